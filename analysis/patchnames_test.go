package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestPatchNames: the effect at a token of feed-forwards' writes and of queries is what a run gives
// whose hook writes the clean run's entries there by a plain loop; by gradients it is near for a
// prompt that hardly differs.
func TestPatchNames(t *testing.T) {
	c := models.Config{Stream: stream.VectorConfig{Vectors: stream.Vectors{D: 12}}, Attention: models.Attention{Heads: 3}, Layers: 2, FeedForward: layers.GELUConfig{Hidden: 17}, Vocab: 13, Seq: 5}
	spec := modeltest.Resolve(t, c)
	store := modeltest.PerturbedStore(t, spec, tensor.Float64)
	clean, corrupt := []int32{1, 2, 3, 4}, []int32{1, 7, 3, 4}
	logit := func(ids []int32, hooks graph.Hooks) float64 {
		p := modeltest.Compile(t, spec, store, modeltest.Setup{Hooks: hooks, Rows: 1, Seq: 4})
		return p.On(t, modeltest.Batch{Inputs: ids, Targets: make([]int32, 4), Rows: 1, Seq: 4}, graph.RunOptions{}).Logits[3*13+5]
	}
	own, other := logit(clean, nil), logit(corrupt, nil)
	found, err := analysis.PatchNames(t.Context(), store, spec, clean, corrupt, analysis.LogitOf(3, 5, -1), 0, "blocks.*.feedforward.write", "blocks.1.attention.q")
	require.NoError(t, err)
	require.Equal(t, []string{"blocks.0.feedforward.write", "blocks.1.attention.q", "blocks.1.feedforward.write"}, found.Rows)
	for i, name := range found.Rows {
		var values []float64
		logit(clean, graph.Hooks{name: func(_ string, x *tensor.Dense) error { values = graph.Float64s(x); return nil }})
		for token := range clean {
			patched := logit(corrupt, graph.Hooks{name: func(_ string, x *tensor.Dense) error {
				of := x.Float64s()
				size := len(of) / 4
				for k := token * size; k < (token+1)*size; k++ {
					of[k] = values[k]
				}
				return nil
			}})
			assert.InDelta(t, (patched-other)/(own-other), found.Effect[i][token], 1e-9, "%s token %d", name, token)
		}
	}
	byGradient, err := analysis.PatchNames(t.Context(), store, spec, clean, corrupt, analysis.LogitOf(3, 5, -1), 1, "blocks.1.feedforward.write")
	require.NoError(t, err)
	assert.InDelta(t, found.Effect[2][3], byGradient.Effect[0][3], 0.2)
	_, err = analysis.PatchNames(t.Context(), store, spec, clean, corrupt, analysis.LogitOf(3, 5, -1), 0, "blocks.9.attention.q")
	require.Error(t, err)
}
