//go:build cuda

package gpucheck

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
)

// TestEmulate: what is printed for the shell names libraries that exist.
func TestEmulate(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("without the emulator")
	}
	var out bytes.Buffer
	require.NoError(t, Emulate(&out))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2)
	for i, name := range []string{"RESIDUA_CUDA_DRIVER", "RESIDUA_CUBLAS"} {
		path, found := strings.CutPrefix(lines[i], "export "+name+"='")
		require.True(t, found, lines[i])
		_, err := os.Stat(strings.TrimSuffix(path, "'"))
		require.NoError(t, err)
	}
}
