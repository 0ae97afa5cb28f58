package modeltest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
)

// checkSeeds checks that initial values depend only on the seed and the name, and that
// training depends only on the seed and the data, to the last bit.
func checkSeeds(t *testing.T, spec models.Spec) {
	first, wide := NewStore(t, spec, tensor.Float32, 1), NewStore(t, spec, tensor.Float64, 1)
	requireSame(t, Values(first), Values(NewStore(t, spec, tensor.Float32, 1)), "the same seed")
	other := NewStore(t, spec, tensor.Float32, 2)
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
	train := func(seed uint64) []map[string][]float64 { return trainMany(t, spec, seed, rows, 2, 3) }
	require.Equal(t, train(5), train(5), "the same training")
	require.NotEqual(t, train(5), train(6), "training from another seed")
}
