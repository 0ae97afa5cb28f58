package bench

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// perturbed returns a workload's parameters, none of them 0 or 1.
func perturbed(t *testing.T, w Workload) *graph.Store {
	store := graph.NewStore(tensor.Float32, 1)
	_, err := models.New(gorgonia.NewGraph(), w.Spec, graph.Options{Store: store})
	require.NoError(t, err)
	draw := rand.New(rand.NewPCG(3, 4))
	for _, p := range store.Params() {
		for i, v := range p.Value.Float32s() {
			p.Value.Float32s()[i] = v + 0.1*float32(draw.NormFloat64())
		}
	}
	return store
}

// TestStockIsTheSameModel: with the same weights the stock graph has our loss, also after each of a
// few Adam steps.
func TestStockIsTheSameModel(t *testing.T) {
	chosen, err := ChooseStock(models.Standard(), nil, Size{})
	require.NoError(t, err)
	w := chosen[0]
	store := perturbed(t, w)
	theirs, err := newStockOn(store, w)
	require.NoError(t, err)
	defer theirs.close()
	mine, err := newResiduaOn(store, w, Target{Threads: 2}, optim.Adam(beta1, beta2, adamEps), optim.Rate(learningRate, optim.Constant{}))
	require.NoError(t, err)
	defer mine.close()
	assert.Equal(t, mine.facts().Parameters, theirs.facts().Parameters)
	var losses []float64
	for step := range 4 {
		want, err := mine.step()
		require.NoError(t, err)
		got, err := theirs.step()
		require.NoError(t, err)
		assert.InDelta(t, want, got, 1e-5*want, "step %d", step)
		losses = append(losses, want)
	}
	assert.Less(t, losses[3], losses[0]-0.05, "the steps change the loss by more than the tolerance")
}
