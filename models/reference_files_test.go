package models_test

import (
	"math"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// relativeError returns max |got - want| / max(max |want|, floor); NaN counts as infinite.
func relativeError(got, want []float64, floor float64) float64 {
	difference, scale := 0.0, floor
	for i := range want {
		d := math.Abs(got[i] - want[i])
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		difference, scale = max(difference, d), max(scale, math.Abs(want[i]))
	}
	if difference == 0 {
		return 0
	}
	return difference / scale
}

// tensorFile holds a safetensors file, with its float tensors widened.
type tensorFile struct {
	byName map[string]checkpoint.Tensor
	values map[string][]float64
}

// fileSuffix ends the name of a reference that is a single file.
const fileSuffix = ".safetensors"

// readTensors reads a file in a folder; if the reference is a single file, it reads the tensors
// "weights/…" instead of weights.safetensors.
func readTensors(t *testing.T, dir, name string) tensorFile {
	path, prefix := filepath.Join(dir, name), ""
	if filepath.Ext(dir) == fileSuffix {
		path, prefix = dir, strings.TrimSuffix(name, fileSuffix)+"/"
	}
	file, err := checkpoint.ReadTensors(path)
	require.NoError(t, err)
	f := tensorFile{map[string]checkpoint.Tensor{}, map[string][]float64{}}
	for _, tensor := range file.Tensors {
		name, ours := strings.CutPrefix(tensor.Name, prefix)
		if !ours {
			continue
		}
		f.byName[name] = tensor
		if values, err := tensor.Float64s(); err == nil {
			f.values[name] = values
		}
	}
	return f
}

// expectedText returns a folder's expected.json, or the same text from the metadata of a file.
func expectedText(t *testing.T, dir string) []byte {
	if filepath.Ext(dir) != fileSuffix {
		text, err := os.ReadFile(filepath.Join(dir, "expected.json"))
		require.NoError(t, err)
		return text
	}
	file, err := checkpoint.ReadTensors(dir)
	require.NoError(t, err)
	return []byte(file.Metadata["expected"])
}

func (f tensorFile) tensor(t *testing.T, name string) checkpoint.Tensor {
	require.Contains(t, f.byName, name)
	return f.byName[name]
}

func (f tensorFile) names() []string {
	names := []string{}
	for name := range f.values {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func floats(t *testing.T, f tensorFile, name string) []float64 {
	require.Contains(t, f.values, name)
	return f.values[name]
}

func int32s(t *testing.T, f tensorFile, name string) []int32 {
	ints, err := f.tensor(t, name).Ints()
	require.NoError(t, err)
	out := make([]int32, len(ints))
	for i, v := range ints {
		out[i] = int32(v)
	}
	return out
}
