package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// TestCompare counts what is the same, and measures what is not, by block and weight.
func TestCompare(t *testing.T) {
	made := func(c models.Config) *graph.Store {
		c.Vocab, c.Seq = 11, 8
		spec, err := c.Resolve()
		require.NoError(t, err)
		store := graph.NewStore(tensor.Float32, 1)
		_, err = models.New(gorgonia.NewGraph(), spec, graph.Options{Store: store})
		require.NoError(t, err)
		return store
	}
	before, after := made(models.Transformer(3, 8, 16, 2)), made(models.Transformer(3, 8, 16, 2))
	w := after.Param("blocks.2.feedforward.w1").Value.Float32s()
	w[0], w[5] = w[0]+3, w[5]-4
	c, err := analysis.Compare(before, after)
	require.NoError(t, err)
	require.Len(t, c.Changed, 1)
	assert.Equal(t, len(after.Params())-1, c.Same)
	assert.InDelta(t, 5, c.Changed[0].Moved, 1e-5)
	assert.Equal(t, "blocks.2.feedforward.w1", c.Table().Rows[0][0])
	h := c.Figures()[0].(figure.Heatmap)
	assert.Equal(t, []string{"feedforward.w1"}, h.Rows)
	assert.InDelta(t, 5/c.Changed[0].Norm, h.Values[0][2], 1e-5)
	c, err = analysis.Compare(before, before)
	require.NoError(t, err)
	assert.Empty(t, c.Figures())
	_, err = analysis.Compare(made(models.Transformer(2, 8, 16, 2)), after)
	assert.ErrorContains(t, err, `parameter "blocks.2.`)
	_, err = analysis.Compare(made(models.Transformer(4, 8, 16, 2)), after)
	assert.ErrorContains(t, err, `parameter "blocks.3.`)
	_, err = analysis.Compare(made(models.Transformer(3, 16, 8, 2)), made(models.Transformer(3, 8, 16, 2)))
	assert.ErrorContains(t, err, `parameter "`)
	turned := made(models.Transformer(3, 8, 16, 2))
	turned.Param("blocks.1.feedforward.w1").Shape = []int{16, 8}
	_, err = analysis.Compare(turned, after)
	assert.ErrorContains(t, err, `parameter "blocks.1.feedforward.w1": want it in both models, in one shape, got [16 8] and [8 16]`)
}
