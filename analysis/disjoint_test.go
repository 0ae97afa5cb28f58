package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestHeadSpaces: heads that write to entries of their own are disjoint, heads that write the same
// are not, and random ones are as random ones are.
func TestHeadSpaces(t *testing.T) {
	c := modeltest.Resolve(t, tiny(vectorOf(12), func(c *models.Config) { c.Layers, c.Attention.Heads, c.Attention.HeadDim = 2, 3, 2 }))
	store := modeltest.NewStore(t, c, tensor.Float64, 5)
	w := graph.Float64s(store.Param("blocks.0.attention.o").Value) // [H Dh, D]
	set := func(to func(row, column int) float64) *analysis.HeadSpaces {
		for i := range w {
			w[i] = to(i/12, i%12)
		}
		copy(store.Param("blocks.0.attention.o").Value.Float64s(), w)
		s, err := analysis.FindHeadSpaces(t.Context(), store, c, 50)
		require.NoError(t, err)
		return s
	}
	own := set(func(row, column int) float64 {
		if row == column {
			return 1
		}
		return 0
	}).Groups[0]
	assert.Equal(t, "layer 0", own.Name)
	assert.Equal(t, []int{6, 6}, []int{own.Ranks, own.Rank})
	assert.InDelta(t, 6, own.EffectiveRank.Own, 1e-9)
	assert.InDelta(t, 6, own.EffectiveRanks, 1e-9)
	assert.InDelta(t, 0, own.Overlap.Own, 1e-12)
	assert.InDelta(t, 2.0/12, own.Overlap.Rotated, 1e-12)
	assert.Less(t, own.EffectiveRank.Rotated, 5.9, "random directions overlap")

	same := set(func(row, column int) float64 {
		if row%2 == column {
			return 1
		}
		return 0
	})
	g := same.Groups[0]
	assert.Equal(t, []int{6, 2}, []int{g.Ranks, g.Rank})
	assert.InDelta(t, 2, g.EffectiveRank.Own, 1e-9)
	assert.InDelta(t, 1, g.Overlap.Own, 1e-12)

	random := same.Groups[1]
	assert.Equal(t, "layer 1", random.Name)
	assert.InDelta(t, random.Overlap.Rotated, random.Overlap.Own, 4*random.Overlap.Deviation)
	assert.InDelta(t, random.EffectiveRank.Rotated, random.EffectiveRank.Own, 5*random.EffectiveRank.Deviation)
	assert.Equal(t, 6, same.Groups[2].Heads)
	assert.Len(t, same.Table().Rows, 3)
	assert.Len(t, same.Figures(), 2)
}

// TestHeadSpacesOfKeys: a matrix stream's head writes along one key.
func TestHeadSpacesOfKeys(t *testing.T) {
	c := zoo(t)["matrix"]
	s, err := analysis.FindHeadSpaces(t.Context(), modeltest.PerturbedStore(t, c, tensor.Float32), c, 4)
	require.NoError(t, err)
	assert.Equal(t, c.HeadCount(), s.Groups[0].Ranks)
	assert.Equal(t, min(c.HeadCount(), s.Groups[0].Dimensions), s.Groups[0].Rank)
}
