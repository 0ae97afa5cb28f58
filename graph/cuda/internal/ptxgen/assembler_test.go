//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
)

// fakePtxas prints its version, and "assembles" by writing its arguments.
const fakePtxas = `#!/bin/sh
case $1 in
--version) echo "Cuda compilation tools, release 99.1, V99.1.7" ;;
*) printf "code %s of " "$1" >"$3"; cat "$4" >>"$3" ;;
esac
`

// TestAssembler: code is made once for each PTX, and removed if the PTX has changed and there is no
// assembler.
func TestAssembler(t *testing.T) {
	t.Chdir(t.TempDir())
	path := filepath.Join(t.TempDir(), "ptxas")
	require.NoError(t, os.WriteFile(path, []byte(fakePtxas), 0o755))
	t.Setenv("RESIDUA_PTXAS", path)
	keep := func(ptx string) {
		packed, err := compress(ptx)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("norm"+ending, packed, 0o644))
	}
	code := func() string {
		text, err := toolkit.ReadPacked("norm.cubin.zst")
		require.NoError(t, err)
		return text
	}
	keep("// one NVRTC\nptx 1")
	a := &assembler{}
	require.NoError(t, a.assemble("norm", "// one ", false))
	assert.Equal(t, "// one ptxas 99.1.7 sm_80:38 sm_90:38 sm_100:39\n"+
		"code -arch=sm_80 of // one NVRTC\nptx 1code -arch=sm_90 of // one NVRTC\nptx 1code -arch=sm_100 of // one NVRTC\nptx 1", code())

	none := &assembler{missing: errors.New("none")}
	keep("// one NVRTC\nptx 2")
	require.NoError(t, none.assemble("norm", "// one ", false))
	assert.Contains(t, code(), "ptx 1", "of the same sources")
	require.NoError(t, a.assemble("norm", "// one ", true))
	assert.Contains(t, code(), "ptx 2", "all")
	require.NoError(t, a.assemble("norm", "// two ", false))
	assert.Contains(t, code(), "// two ptxas", "of other sources")
	require.NoError(t, none.assemble("norm", "// three ", false))
	assert.NoFileExists(t, "norm.cubin.zst")
	require.NoError(t, none.assemble("norm", "// three ", false), "nothing to remove")
}
