package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
)

// TestPathExpansion: with all paths the loss is the model's, and with none it is the loss of a
// model whose sublayers write nothing. The orders in between agree with runs made one by one.
func TestPathExpansion(t *testing.T) {
	for _, name := range checked(t, "paths", "vector/attention-only", "matrix/attention-only", "vector") {
		c := zoo(t)[name]
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		rows := [][]int32{tokensFor(c, c.Seq, 5), tokensFor(c, c.Seq, 6)}
		p, err := analysis.MeasurePaths(t.Context(), store, c, rows, analysis.PathOptions{Heads: true})
		require.NoError(t, err, name)
		last := p.Orders[len(p.Orders)-1]
		assert.InDelta(t, p.Model.Mean, last.Loss.Mean, 1e-10, name)
		share := 0.0
		for _, o := range p.Orders[1:] {
			share += o.Share
		}
		assert.InDelta(t, 1, share, 1e-9, name)
		assert.Len(t, p.Heads, c.Layers*c.HeadCount())
		assert.Len(t, p.Pairs, c.Layers*(c.Layers-1)/2*c.HeadCount()*c.HeadCount())
		assert.NotContains(t, p.Table().Text(), "NaN")
		assert.Len(t, p.Figures(), 4)
		assert.Equal(t, len(rows)*(c.Seq-1), p.Tokens)
		assert.NotZero(t, p.Model.StandardError)
	}
}

// TestPathOrdersOfTwoLayers compares the orders of a two-layer model of attention alone with runs
// whose activations are replaced one by one.
func TestPathOrdersOfTwoLayers(t *testing.T) {
	c := varied(t, zoo(t)["vector/attention-only"], func(c *models.Config) { c.Layers = 2 })
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	ids := tokensFor(c, c.Seq, 5)
	p, err := analysis.MeasurePaths(t.Context(), store, c, [][]int32{ids}, analysis.PathOptions{})
	require.NoError(t, err)
	require.Len(t, p.Orders, 3)
	assert.Equal(t, []float64{1, float64(2 * c.HeadCount()), float64(c.HeadCount() * c.HeadCount())}, []float64{p.Orders[0].Paths, p.Orders[1].Paths, p.Orders[2].Paths})

	first, second := "blocks.0.attention.", "blocks.1.attention."
	r, err := cache.New(store, c, cache.Options{Names: []string{first + "*", second + "*"}, Seq: len(ids)})
	require.NoError(t, err)
	defer r.Close()
	loss := func(replace ...cache.Intervention) (float64, *cache.Cache) {
		run, err := r.Run(ids, replace...)
		require.NoError(t, err)
		v, err := analysis.NextTokenLoss().Of(run)
		require.NoError(t, err)
		return v, run
	}
	model, own := loss()
	held := []cache.Intervention{cache.Patch(first+"pattern", nil, own), cache.Patch(second+"pattern", nil, own)}
	direct, _ := loss(cache.Ablate(first+"heads", nil), cache.Ablate(second+"heads", nil))
	_, above := loss(append(held, cache.Ablate(first+"heads", nil))...)
	one, _ := loss(append(held, cache.Patch(second+"heads", nil, above))...)
	assert.InDelta(t, direct, p.Orders[0].Loss.Mean, 1e-12)
	assert.InDelta(t, one, p.Orders[1].Loss.Mean, 1e-12)
	assert.InDelta(t, model, p.Orders[2].Loss.Mean, 1e-12)
	assert.InDelta(t, direct-one, p.Orders[1].Gain.Mean, 1e-12)
	alone, _ := loss(cache.Ablate(second+"heads", nil))
	assert.InDelta(t, direct-alone, p.Steps[0].Alone.Mean, 1e-12)
	assert.InDelta(t, alone-one, p.Steps[1].Last.Mean, 1e-12)
	assert.Zero(t, p.Model.StandardError, "of one row")
}

// TestVirtualHead: of two layers of one head, the virtual head is all paths of two steps.
func TestVirtualHead(t *testing.T) {
	c := varied(t, zoo(t)["vector/attention-only"], func(c *models.Config) { c.Layers, c.Attention.Heads = 2, 1 })
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	p, err := analysis.MeasurePaths(t.Context(), store, c, [][]int32{tokensFor(c, c.Seq, 5)}, analysis.PathOptions{Heads: true})
	require.NoError(t, err)
	require.Len(t, p.Pairs, 1)
	assert.Equal(t, "blocks.1.attention.0", p.Pairs[0].Second)
	assert.InDelta(t, p.Orders[2].Gain.Mean, p.Pairs[0].Gain.Mean, 1e-12)
	assert.NotZero(t, p.Pairs[0].Gain.Mean)
	assert.Regexp(t, `\nhead blocks\.0\.attention\.0 +1 (?s:.*)\nvirtual head blocks\.0\.attention\.0, read by blocks\.1\.attention\.0 +1 `, p.Table().Text())
	assert.InDelta(t, p.Steps[0].Alone.Mean, p.Heads[0].Gain.Mean, 1e-12)
}
