package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestWhoReadsWhichLayerOfDenseFormer: the weights are its parameters.
func TestWhoReadsWhichLayerOfDenseFormer(t *testing.T) {
	depthRow{stream.DenseFormerConfig{}, []string{"embedding", "blocks.0", "blocks.1"}, false, []string{"blocks.1", "unembedding"}, map[string]depthWeights{
		"blocks.1":    func(r depthReader) [][]float64 { return r.same(r.values("blocks.0.dwa")...) },
		"unembedding": func(r depthReader) [][]float64 { return r.same(r.values("blocks.1.dwa")...) },
	}}.check(t)
}

// TestSourcesOfDenseFormerByHand: a source without a weight is a source left out.
func TestSourcesOfDenseFormerByHand(t *testing.T) {
	checkMixingSources(t, stream.DenseFormerConfig{}, func(store *graph.Store, block, source, kept int) {
		if kept != 0 {
			store.Param([]string{"blocks.0.dwa", "blocks.1.dwa"}[block]).Value.Float64s()[source] = 0
		}
	})
}

// TestEntropyOfDepthWeights: 0 of a sum that reads one source, 1 of one that reads all alike.
func TestEntropyOfDepthWeights(t *testing.T) {
	c, ids := mixingModel(t, stream.DenseFormerConfig{})
	store := modeltest.NewStore(t, c, tensor.Float32, 1)
	start, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	copy(store.Param("blocks.1.dwa").Value.Float32s(), []float32{-0.5, 0.5, 0.5})
	now, err := mixing.Run(store, c, ids)
	require.NoError(t, err)
	m := now.Since(start)
	require.Len(t, m.Places, 2)
	assert.Zero(t, *m.Places[0].Entropy)
	assert.InDelta(t, 1, *m.Places[1].Entropy, 1e-12)
	assert.InDelta(t, math.Sqrt(0.25), m.Places[1].Moved, 1e-6)
}
