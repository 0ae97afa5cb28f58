package modeltest

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/models"
)

// checkFile checks that a model can be saved to one file and read back: its config and
// parameters are the same to the last bit and compute the same.
func checkFile(t *testing.T, spec models.Spec) {
	store := PerturbedStore(t, spec, tensor.Float32)
	path := filepath.Join(t.TempDir(), "model.safetensors")
	text, err := json.Marshal(spec)
	require.NoError(t, err)
	var tensors []checkpoint.Tensor
	for _, p := range store.Params() {
		tensors = append(tensors, checkpoint.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Value.Float32s()})
	}
	require.NoError(t, checkpoint.WriteModel(path, tensors, map[string]string{checkpoint.MetadataConfig: string(text)}))

	file, err := checkpoint.ReadModel(path)
	require.NoError(t, err)
	config, err := zooOf(spec).Unmarshal([]byte(file.Metadata[checkpoint.MetadataConfig]))
	require.NoError(t, err)
	require.Equal(t, spec.Config, config, "the config")
	read := Resolve(t, config)
	again := NewStore(t, read, tensor.Float32, 99)
	require.Len(t, file.Tensors, len(again.Params()))
	for _, p := range again.Params() {
		x, err := file.Tensor(p.Name)
		require.NoError(t, err)
		require.Equal(t, p.Shape, x.Shape, p.Name)
		data, err := x.Float32s()
		require.NoError(t, err)
		copy(p.Value.Float32s(), data)
	}
	requireSame(t, Values(store), Values(again), "parameters")
	b := documentBatch(spec, rows, 14)
	require.Equal(t, evaluate(t, spec, store, b), evaluate(t, read, again, b), "results")
}

// zooOf returns a zoo with only the model's designs, whatever module they come from.
func zooOf(spec models.Spec) models.Zoo {
	zoo := models.Zoo{}.WithKinds(without(spec.Stream), without(spec.Attention.Design()))
	if spec.FeedForward != nil {
		zoo = zoo.WithKinds(without(spec.FeedForward))
	}
	if spec.Writes != nil {
		zoo = zoo.WithKinds(without(spec.Writes))
	}
	return zoo
}

// without returns a design without its settings.
func without[D any](design D) D { return reflect.Zero(reflect.TypeOf(design)).Interface().(D) }
