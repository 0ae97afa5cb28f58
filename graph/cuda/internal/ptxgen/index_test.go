//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/internal/toolkit"
)

const cudaFolder = "../.."

// TestIndexIsOfThePTX compares modules.go with the kernels that the PTX declares.
func TestIndexIsOfThePTX(t *testing.T) {
	want, err := index(cudaFolder)
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(cudaFolder, indexFile))
	require.NoError(t, err)
	assert.True(t, string(want) == string(got), "%s is not what the PTX declares: run go generate ./graph/cuda", indexFile)
}

func TestCompressedPTXIsReadBack(t *testing.T) {
	const ptx = ".visible .entry none()\n{ ret; }\n"
	packed, err := compress(ptx)
	require.NoError(t, err)
	again, err := compress(ptx)
	require.NoError(t, err)
	assert.Equal(t, packed, again)
	file := filepath.Join(t.TempDir(), "none"+ending)
	require.NoError(t, os.WriteFile(file, packed, 0o644))
	read, err := toolkit.ReadPacked(file)
	require.NoError(t, err)
	assert.Equal(t, ptx, read)

	require.NoError(t, os.WriteFile(file, packed[:len(packed)-1], 0o644))
	_, err = toolkit.ReadPacked(file)
	assert.ErrorContains(t, err, file)
}

func TestParseEntries(t *testing.T) {
	entries, err := parseEntries(`
.extern .shared .align 128 .b8 dynamic[];
.shared .align 4 .b8 both[8];
.visible .entry scale_f32(
	.param .u64 scale_f32_param_0,
	.param .f32 scale_f32_param_1,
	.param .align 8 .b8 scale_f32_param_2[24]
)
.maxntid 256, 1, 1
{
	.shared .align 8 .b32 own[3];
	mov.u64 %rd1, own; mov.u64 %rd2, both; mov.u64 %rd3, dynamic;
	ret;
}
.visible .entry other()
{ mov.u64 %rd1, both+4; ret; }
.visible .entry none()
{ ret; }`)
	require.NoError(t, err)
	assert.Equal(t, []entry{
		{name: "scale_f32", params: []int{8, 4, 24}, threads: 256, shared: 128}, // 20, rounded up to 128
		{name: "other", threads: 1024, shared: 128},
		{name: "none", threads: 1024},
	}, entries)
	_, err = parseEntries(".visible .entry odd(.reg .u32 x)\n{ ret; }")
	assert.ErrorContains(t, err, "kernel odd")
}
