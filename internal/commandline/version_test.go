package commandline

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersion: -version prints a line that ends with the Go release and the processor, and one with
// the instructions for matrix products.
func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "-version", "--version"} {
		var stdout, stderr bytes.Buffer
		c, args := Suite{Name: "prog", Program: "prog"}.Choose([]string{arg})
		require.Zero(t, Main(c, args, &stdout, &stderr), stderr.String())
		require.Regexp(t, `^prog .*, go1\.\S+ \w+/\w+\nmultiplies float32 by \w+, bfloat16 by .+\n$`, stdout.String())
	}
}
