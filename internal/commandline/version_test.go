package commandline

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersion: -version prints one line, which ends with the Go release and the processor.
func TestVersion(t *testing.T) {
	for _, arg := range []string{"version", "-version", "--version"} {
		var stdout, stderr bytes.Buffer
		c, args := Suite{Name: "prog", Program: "prog"}.Choose([]string{arg})
		require.Zero(t, Main(c, args, &stdout, &stderr), stderr.String())
		require.Regexp(t, `^prog .*, go1\.\S+ \w+/\w+\n$`, stdout.String())
	}
}
