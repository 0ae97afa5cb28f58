package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/internal/source"
)

// TestPTXIsOfItsSource compares the hash that each .ptx records with that of its sources.
func TestPTXIsOfItsSource(t *testing.T) {
	names, err := source.Names(".")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		unit, err := source.Read(".", name)
		require.NoError(t, err)
		output := strings.TrimSuffix(name, ".cu") + ".ptx"
		text, err := os.ReadFile(output)
		if assert.NoError(t, err, "%s has no PTX: run go generate ./graph/cuda", name) {
			assert.True(t, strings.HasPrefix(string(text), source.Label(unit.Hash())),
				"%s was not made from %s and its headers as they are: run go generate ./graph/cuda", output, name)
		}
	}
	outputs, err := filepath.Glob("*.ptx")
	require.NoError(t, err)
	assert.Len(t, outputs, len(names), "want a .cu for every .ptx")
}

// TestPTXIsPortable holds the PTX to one target and free of where it was made.
func TestPTXIsPortable(t *testing.T) {
	list, err := modules()
	require.NoError(t, err)
	for _, m := range list {
		assert.Contains(t, m.ptx, ".target sm_80", m.name)
		assert.Contains(t, m.ptx, ".address_size 64", m.name)
		assert.NotRegexp(t, `(?m)^\s*\.file|/(tmp|home|usr|root)/`, m.ptx, m.name)
	}
}

func TestKernelNamesAreUnique(t *testing.T) {
	list, err := modules()
	require.NoError(t, err)
	owner := map[string]string{}
	for _, m := range list {
		assert.NotEmpty(t, m.entries, "%s has no kernels", m.name)
		for _, e := range m.entries {
			if other, ok := owner[e.name]; ok {
				assert.Fail(t, "two kernels of one name", "%s is in %s and in %s", e.name, other, m.name)
			}
			owner[e.name] = m.name
		}
	}
}

func TestParseEntries(t *testing.T) {
	entries, err := parseEntries(`
.visible .entry scale_f32(
	.param .u64 scale_f32_param_0,
	.param .f32 scale_f32_param_1,
	.param .align 8 .b8 scale_f32_param_2[24]
)
.maxntid 256, 1, 1
{ ret; }
.visible .entry none()
{ ret; }`)
	require.NoError(t, err)
	assert.Equal(t, []entry{
		{name: "scale_f32", params: []int{8, 4, 24}, threads: 256},
		{name: "none", threads: 1024},
	}, entries)
	_, err = parseEntries(".visible .entry odd(.reg .u32 x)\n{ ret; }")
	assert.ErrorContains(t, err, "kernel odd")
}
