package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// weightLoss is sum (x W)^2 of a weight "w" [4, 6] and an input x [3, 4].
func weightLoss(b *graph.Builder) (graph.Roots, error) {
	x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{3, 4}, Init: graph.Normal(1)})
	w := b.Param(graph.ParamSpec{Name: "w", Shape: []int{4, 6}, Init: graph.Normal(1), Role: graph.RoleHidden})
	y := linear.Map(b, x, w, linear.Options{})
	if b.Err() != nil {
		return graph.Roots{}, b.Err()
	}
	square, err := gorgonia.Square(y)
	if err != nil {
		return graph.Roots{}, err
	}
	sum, err := gorgonia.Sum(square)
	return graph.Roots{Loss: sum}, err
}

func adapters() []graph.Adapter {
	return []graph.Adapter{{Name: "q", Of: "w", Width: 2, Rank: 2, Scale: 2}, {Name: "v", Of: "w", From: 3, Width: 3, Rank: 1, Scale: 0.5}}
}

// TestAdapters are trained alone: they start without effect, and have the gradients, moments and
// memory; Merged has the weight that the graph reads.
func TestAdapters(t *testing.T) {
	plain := graph.NewStore(tensor.Float32, 1)
	whole, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: plain}, Gradients: true}, weightLoss)
	require.NoError(t, err)
	defer whole.Close()
	require.NoError(t, whole.Run(graph.RunOptions{}))

	store := graph.NewStore(tensor.Float32, 1)
	require.NoError(t, store.Adapt(adapters()))
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store}, Gradients: true}, weightLoss)
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Run(graph.RunOptions{}))
	assert.Equal(t, optest.ScalarOf(t, whole.Roots().Loss), optest.ScalarOf(t, p.Roots().Loss), "the start is the base")
	names := func(params []*graph.Param) (names []string) {
		for _, p := range params {
			names = append(names, p.Name)
		}
		return names
	}
	assert.Equal(t, []string{"q.lora_A", "q.lora_B", "v.lora_A", "v.lora_B"}, names(store.Trained()))
	assert.Equal(t, []string{"x", "w"}, names(store.Frozen()))
	assert.Equal(t, 4*2+2*2+4*1+1*3, store.TrainedSize())
	assert.Nil(t, store.Param("w").Grad)
	assert.ElementsMatch(t, store.Trained(), p.FinalOrder())
	assert.Len(t, p.Builder().Learnables(), 4)
	memory := p.Memory()
	assert.Equal(t, 4*6*4, memory.Adapted)
	assert.Equal(t, 4*6*4, memory.AdaptedGradients)
	need, err := graph.PredictMemory(graph.ProgramOptions{Options: graph.Options{Store: store}, Gradients: true}, weightLoss)
	require.NoError(t, err)
	assert.Equal(t, 19*4, need.Gradients)
	assert.Equal(t, 2*19*4, need.Moments)

	first := store.Param("q.lora_B").Grad.Clone().(*tensor.Dense).Float32s()
	require.NoError(t, p.Run(graph.RunOptions{Accumulate: true}))
	for i, g := range store.Param("q.lora_B").Grad.Float32s() {
		assert.InDelta(t, 2*first[i], g, 1e-4)
	}
	store.Param("v.lora_B").Value.Float32s()[1] = 3
	require.NoError(t, p.Run(graph.RunOptions{}))
	merged, err := store.Merged()
	require.NoError(t, err)
	assert.NotEqual(t, plain.Param("w").Value.Data(), merged.Param("w").Value.Data())
	again, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: merged}}, weightLoss)
	require.NoError(t, err)
	defer again.Close()
	require.NoError(t, again.Run(graph.RunOptions{}))
	assert.Equal(t, optest.ScalarOf(t, p.Roots().Loss), optest.ScalarOf(t, again.Roots().Loss))
}

// TestAdaptersThatDoNotFit are refused by name.
func TestAdaptersThatDoNotFit(t *testing.T) {
	for want, a := range map[string]graph.Adapter{
		`adapter "q": want columns of a weight with 6, got 5 from 2 on`: {Name: "q", Of: "w", From: 2, Width: 5, Rank: 1},
		`the name "x.lora_A" is taken`:                                  {Name: "x", Of: "w", Width: 5, Rank: 1},
	} {
		store := graph.NewStore(tensor.Float32, 1)
		require.NoError(t, store.Adapt([]graph.Adapter{a}))
		_, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: store}}, func(b *graph.Builder) (graph.Roots, error) {
			b.Input("x.lora_A", tensor.Float32, 1)
			return weightLoss(b)
		})
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, store.Adapt(nil), "want a store without parameters")
	}
}
