package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/blocks"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

var blocksRows = [][]int32{{3, 1, 4, 1, 5, 9}, {2, 7, 1, 8, 2, 8}}

// blocksModel returns a model whose weights are not their initial values.
func blocksModel(t *testing.T, c models.Config) (*graph.Store, models.Spec) {
	c.Vocab, c.Seq = 11, 6
	spec := modeltest.Resolve(t, c)
	return modeltest.PerturbedStore(t, spec, tensor.Float64), spec
}

// TestBlocksWorth: the parts are each block's sublayers and the block. Each part's rise equals the
// change of the loss when its activations are ablated together, row by row.
func TestBlocksWorth(t *testing.T) {
	for what, c := range map[string]models.Config{"transformer": models.Transformer(2, 8, 16, 2), "RMT": models.RMT(2, 4, 6, 2, 16)} {
		store, spec := blocksModel(t, c)
		w, err := blocks.Ablate(t.Context(), store, spec, blocksRows, 1)
		require.NoError(t, err)
		var names []string
		for _, p := range w.Parts {
			names = append(names, p.Name)
		}
		require.Equal(t, []string{"blocks.0.attention", "blocks.0.feedforward", "blocks.0", "blocks.1.attention", "blocks.1.feedforward", "blocks.1"}, names, what)
		for i, activations := range [][]string{{"blocks.1.attention.heads"}, {"blocks.1.feedforward.hidden"}, {"blocks.1.attention.heads", "blocks.1.feedforward.hidden"}} {
			var rises []float64
			for _, ids := range blocksRows {
				of, err := analysis.NewAblations(t.Context(), store, spec, [][]int32{ids}, activations, analysis.ReplaceZero)
				require.NoError(t, err)
				a, err := of.Together(t.Context(), 0, nil, analysis.NextTokenLoss())
				require.NoError(t, err)
				rises = append(rises, a.Effect[0][0])
			}
			got := w.Parts[3+i]
			assert.InDelta(t, (rises[0]+rises[1])/2, got.Rise, 1e-12, got.Name)
			assert.InDelta(t, max(rises[0]-rises[1], rises[1]-rises[0])/2, got.StandardError, 1e-12, got.Name)
			assert.NotZero(t, got.Rise)
		}
		assert.Len(t, w.Table().Rows, len(names))
		assert.Len(t, w.Figures(), 1)
	}
}

// TestIdleBlocks: a sublayer whose weights write nothing is idle, and so is a block of such; a
// block's sublayers are not named next to it.
func TestIdleBlocks(t *testing.T) {
	store, spec := blocksModel(t, models.Transformer(2, 8, 16, 2))
	silence := func(name string) {
		p := store.Param(name)
		require.NotNil(t, p, name)
		clear(p.Value.Data().([]float64))
	}
	silence("blocks.1.feedforward.w2")
	w, err := blocks.Ablate(t.Context(), store, spec, blocksRows, 1)
	require.NoError(t, err)
	assert.Zero(t, w.Parts[4].Rise)
	assert.Zero(t, w.Parts[4].StandardError)
	assert.Contains(t, w.Idle(1e-9), "blocks.1.feedforward")
	assert.NotContains(t, w.Idle(1e-9), "blocks.1")
	silence("blocks.1.attention.o")
	w, err = blocks.Ablate(t.Context(), store, spec, blocksRows, 1)
	require.NoError(t, err)
	assert.Contains(t, w.Idle(1e-9), "blocks.1")
	assert.NotContains(t, w.Idle(1e-9), "blocks.1.feedforward")
}

// TestBlocksRefuse: without rows, or with one too short to have a successor.
func TestBlocksRefuse(t *testing.T) {
	store, spec := blocksModel(t, models.Transformer(1, 8, 16, 2))
	for _, ids := range [][][]int32{nil, {{1}}, {{1, 2, 99}}, {{1, 2, 3}, {1, 2}}} {
		_, err := blocks.Ablate(t.Context(), store, spec, ids, 1)
		assert.Error(t, err)
	}
}
