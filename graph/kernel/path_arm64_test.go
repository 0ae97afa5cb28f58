package kernel

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPathIsNEON: on 64-bit Arm the path is neon on every system, unless GODEBUG switches it off.
func TestPathIsNEON(t *testing.T) {
	want := "neon"
	if strings.Contains(os.Getenv("GODEBUG"), "cpu.asimd=off") {
		want = "portable"
	}
	require.Equal(t, want, Path(), runtime.GOOS)
	require.Equal(t, want, PathOf(true), runtime.GOOS)
	require.NotEmpty(t, pairInstructions[machinePairs])
}
