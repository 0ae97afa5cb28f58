package models_test

import (
	"math"
	"path/filepath"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// relativeError is max |got - want| / max(max |want|, floor); NaN counts as infinite.
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

// tensorFile is a safetensors file with its float tensors widened.
type tensorFile struct {
	byName map[string]checkpoint.Tensor
	values map[string][]float64
}

func readTensors(t *testing.T, dir, name string) tensorFile {
	file, err := checkpoint.ReadTensors(filepath.Join(dir, name))
	require.NoError(t, err)
	f := tensorFile{map[string]checkpoint.Tensor{}, map[string][]float64{}}
	for _, tensor := range file.Tensors {
		f.byName[tensor.Name] = tensor
		if values, err := tensor.Float64s(); err == nil {
			f.values[tensor.Name] = values
		}
	}
	return f
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
