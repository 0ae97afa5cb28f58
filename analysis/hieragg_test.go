package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/modeltest"
)

// TestWiringOfWholeSites: all heads of a layer are one node.
func TestWiringOfWholeSites(t *testing.T) {
	c := zoo(t)["hieragg"]
	store := modeltest.PerturbedStore(t, c, tensor.Float32)
	w, err := analysis.Wire(t.Context(), store, c, analysis.WiringOptions{Whole: true, FDR: 1})
	require.NoError(t, err)
	want := []figure.WiringNode{
		{Name: "embedding", Layer: 0}, {Name: "positions", Layer: 0},
		{Name: "blocks.0.attention", Layer: 1}, {Name: "blocks.0.feedforward", Layer: 2},
		{Name: "blocks.1.attention", Layer: 3}, {Name: "blocks.1.feedforward", Layer: 4}, {Name: "blocks.1.aggregate", Layer: 5},
		{Name: "blocks.2.attention", Layer: 6}, {Name: "blocks.2.feedforward", Layer: 7},
		{Name: "blocks.3.attention", Layer: 8}, {Name: "blocks.3.feedforward", Layer: 9}, {Name: "blocks.3.aggregate", Layer: 10},
		{Name: "unembedding", Layer: 11},
	}
	assert.Equal(t, want, w.Nodes)
	assert.Len(t, w.Edges, w.Pairs, "none left out")
	for _, e := range w.Edges {
		assert.Less(t, w.Nodes[e.From].Layer, w.Nodes[e.To].Layer)
	}
	for _, e := range w.Edges[:10] {
		v, err := analysis.Connect(store, c, e.Writer, e.Reader, nil)
		require.NoError(t, err)
		assert.InEpsilon(t, v.Norm, e.Norm, 1e-9)
	}
}
