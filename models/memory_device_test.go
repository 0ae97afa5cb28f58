//go:build cuda

package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
)

// TestDeviceMemory compares what a training step takes of the device with the prediction:
// within 5%.
func TestDeviceMemory(t *testing.T) {
	for name, c := range map[string]models.Config{
		"rmt":         {Stream: stream.MatrixConfig{Dk: 16, Dv: 16, Rank: 4}, Layers: 2, FeedForward: gelu(128), Seq: 64, Vocab: 257, Attention: models.Attention{Positions: models.PositionsALiBi}},
		"transformer": {Stream: vectorOf(64), Layers: 2, FeedForward: gelu(256), Seq: 64, Vocab: 257, Attention: models.Attention{Heads: 4, Positions: models.PositionsALiBi}},
	} {
		for _, precision := range []graph.Precision{graph.TF32, graph.BF16} {
			t.Run(name+"/"+string(precision), func(t *testing.T) { checkMemory(t, modeltest.Resolve(t, c), precision) })
		}
	}
}

func checkMemory(t *testing.T, c models.Spec, precision graph.Precision) {
	const batch = 4
	build := func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, c)
		if err != nil {
			return graph.Roots{}, err
		}
		loss := m.Loss(m.Forward(b.Input("tokens", tensor.Int32, batch, c.Seq)), b.Input("targets", tensor.Int32, batch, c.Seq), models.Auxiliary{})
		return graph.Roots{Loss: loss, Outputs: gorgonia.Nodes{}}, m.Err()
	}
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Device: graph.CUDA, Precision: precision, Training: true}}
	want, err := graph.PredictMemory(o, build)
	require.NoError(t, err)

	store := graph.NewStore(tensor.Float32, 1)
	o.Store = store
	p, err := graph.Compile(o, build)
	require.NoError(t, err)
	update, err := optim.New(store, 1)
	require.NoError(t, err)
	t.Cleanup(func() {
		update.Close()
		p.Close()
		require.NoError(t, store.Close())
	})
	require.NoError(t, p.Run(graph.RunOptions{}))
	_, err = update.Step(1)
	require.NoError(t, err)
	free, total, err := store.DeviceMemory()
	require.NoError(t, err)
	require.InEpsilon(t, want.Total(), total-free, 0.05)
}
