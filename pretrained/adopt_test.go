package pretrained_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// TestAdopt: after another program has written over a model file's parameters, the file can be
// opened once it is adopted, but not before.
func TestAdopt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "averaged.safetensors")
	m := made(t, ours()["llama"], "bytes")
	require.NoError(t, pretrained.Save(path, m.Store, m.Description))
	file, err := checkpoint.ReadTensors(path)
	require.NoError(t, err)
	for _, tensor := range file.Tensors { // as a mean of two checkpoints computed in Python
		for i := range tensor.Data.([]float32) {
			tensor.Data.([]float32)[i] /= 2
		}
	}
	require.NoError(t, checkpoint.WriteTensors(path, file.Tensors, file.Metadata))
	_, err = pretrained.Open(path)
	require.ErrorContains(t, err, "convert -adopt")
	require.NoError(t, pretrained.Adopt(models.Standard(), path))
	m, err = pretrained.Open(path)
	require.NoError(t, err)
	require.Equal(t, file.Tensors[0].Data, m.Store.Param(file.Tensors[0].Name).Value.Float32s())
}

// TestAdoptRefuses other names, shapes and values that are not finite; the file is not changed.
func TestAdoptRefuses(t *testing.T) {
	for want, change := range map[string]func([]checkpoint.Tensor) []checkpoint.Tensor{
		"want finite values, got NaN at 3": func(all []checkpoint.Tensor) []checkpoint.Tensor {
			all[0].Data.([]float32)[3] = float32(math.NaN())
			return all
		},
		"the model has none of that name": func(all []checkpoint.Tensor) []checkpoint.Tensor { all[0].Name = "other"; return all },
		"parameters for the model":        func(all []checkpoint.Tensor) []checkpoint.Tensor { return all[1:] },
	} {
		path := filepath.Join(t.TempDir(), "m.safetensors")
		m := made(t, ours()["llama"], "bytes")
		require.NoError(t, pretrained.Save(path, m.Store, m.Description))
		file, err := checkpoint.ReadTensors(path)
		require.NoError(t, err)
		require.NoError(t, checkpoint.WriteTensors(path, change(file.Tensors), file.Metadata))
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		require.ErrorContains(t, pretrained.Adopt(models.Standard(), path), want)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	require.ErrorContains(t, pretrained.Adopt(models.Standard(), filepath.Join(t.TempDir(), "none")), "no such file")
}
