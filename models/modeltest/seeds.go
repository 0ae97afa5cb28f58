package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/learner"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// checkSeeds: initial values depend on the seed and the name alone, and training is a
// function of seed and data, to the last bit.
func checkSeeds(t *testing.T, c models.Spec) {
	first, wide := NewStore(t, c, tensor.Float32, 1), NewStore(t, c, tensor.Float64, 1)
	requireSame(t, Values(first), Values(NewStore(t, c, tensor.Float32, 1)), "the same seed")
	other := NewStore(t, c, tensor.Float32, 2)
	draws := map[float64]string{} // the first draw of each parameter
	for _, p := range first.Params() {
		if p.Init.Std > 0 {
			draw := wide.Param(p.Name).Value.Float64s()[0] / p.Init.Std
			assert.Empty(t, draws[math.Round(draw*1e9)], "%q begins like that parameter", p.Name)
			draws[math.Round(draw*1e9)] = p.Name
		}
		assert.Equal(t, p.Init.Std == 0 && p.Init.Uniform == 0, slices.Equal(p.Value.Float32s(), other.Param(p.Name).Value.Float32s()), "%q of another seed", p.Name)
		for i, v := range wide.Param(p.Name).Value.Float64s() {
			require.Equal(t, float32(v), p.Value.Float32s()[i], "%q in float64", p.Name)
		}
	}
	require.Equal(t, train(t, c, 5), train(t, c, 5), "the same training")
	require.NotEqual(t, train(t, c, 5), train(t, c, 6), "training from another seed")
}

// train makes three steps and returns the parameters.
func train(t *testing.T, c models.Spec, seed uint64) map[string][]float64 {
	store := NewStore(t, c, tensor.Float32, seed)
	position := uint64(0)
	batches := learner.BatchFunc(func(tokens, targets []int32) error {
		b := RandomBatch(c, rows, c.Seq, position)
		position++
		return learner.Fixed(b.Inputs, b.Targets).Next(tokens, targets)
	})
	learn(t, c, batches, 3, learner.Options{
		Compute: graph.Options{Store: store, Threads: 2}, Optimizer: []optim.Part{optim.Rate(0.01, optim.Constant{})},
	})
	return Values(store)
}

// learn trains on batches of the suite's rows; every step has to be finite.
func learn(t *testing.T, c models.Spec, batches learner.Batches, steps int, o learner.Options) {
	t.Helper()
	o.Batch, o.Outputs.Auxiliary = rows, auxiliary
	l, err := learner.New(c, batches, o)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, l.Train(t.Context(), steps, nil))
	require.Zero(t, l.Progress().Skipped)
}
