package analysis_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestWhoReadsWhichLayerOfAttentionResiduals: each form has the weights that its equations say.
func TestWhoReadsWhichLayerOfAttentionResiduals(t *testing.T) {
	for name, row := range map[string]depthRow{
		"all": {stream.AttnResConfig{}, []string{"embedding", "blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward"}, true, append(tinySites(), "unembedding"),
			map[string]depthWeights{
				"blocks.0.attention": func(r depthReader) [][]float64 { return r.same(1) },
				"blocks.1.attention": func(r depthReader) [][]float64 {
					return r.softmax("blocks.1.attention.", "embedding.out", "blocks.0.attention.stream", "blocks.0.feedforward.stream")
				},
				"unembedding": func(r depthReader) [][]float64 {
					return r.softmax("", "embedding.out", "blocks.0.attention.stream", "blocks.0.feedforward.stream", "blocks.1.attention.stream", "blocks.1.feedforward.stream")
				},
			}},
		"blocks": {stream.AttnResConfig{Block: 3}, []string{"embedding", "blocks.0.attention to 1.attention", "blocks.1.feedforward"}, true, append(tinySites(), "unembedding"),
			map[string]depthWeights{
				"blocks.0.feedforward": func(r depthReader) [][]float64 {
					return r.softmax("blocks.0.feedforward.", "embedding.out", "blocks.0.attention.stream")
				},
				"blocks.1.attention": func(r depthReader) [][]float64 {
					return r.softmax("blocks.1.attention.", "embedding.out", "blocks.0.feedforward.stream")
				},
			}},
		"delta": {stream.AttnResConfig{Delta: true}, []string{"embedding", "blocks.0.attention", "blocks.0.feedforward", "blocks.1.attention"}, true, tinySites()[1:],
			map[string]depthWeights{
				"blocks.1.feedforward": func(r depthReader) [][]float64 {
					return r.softmax("blocks.1.feedforward.", "embedding.out", "blocks.0.attention.write", "blocks.0.feedforward.write", "blocks.1.attention.write")
				},
			}},
		"delta in blocks": {stream.AttnResConfig{Block: 2, Delta: true, Gate: true}, []string{"embedding", "blocks.0"}, true, tinySites()[1:],
			map[string]depthWeights{
				"blocks.0.feedforward": func(r depthReader) [][]float64 { return r.same(1) },
				"blocks.1.attention": func(r depthReader) [][]float64 {
					return r.softmax("blocks.1.attention.", "embedding.out", "blocks.0.attention.write + blocks.0.feedforward.write")
				},
			}},
	} {
		t.Run(name, row.check)
	}
}

// softmax are softmax_i(w . (g ⊙ v_i / rms(v_i))).
func (r depthReader) softmax(prefix string, sources ...string) [][]float64 {
	query, gain := r.values(prefix+"attnres.query"), r.values(prefix+"attnres.norm")
	all := make([][]float64, r.run.Tokens())
	for _, source := range sources {
		for token, v := range r.sums(source) {
			score, scale := 0.0, 1/rms(v)
			for d := range v {
				score += query[d] * gain[d] * v[d] * scale
			}
			all[token] = append(all[token], math.Exp(score))
		}
	}
	for _, weights := range all {
		total := 0.0
		for _, w := range weights {
			total += w
		}
		for i := range weights {
			weights[i] /= total
		}
	}
	return all
}

// TestSourceOfASoftmax: without a source the other weights stay as they are: what the last reader
// gets is the sum of the others. Where it alone reads the source, keeping it regains all.
func TestSourceOfASoftmax(t *testing.T) {
	c, ids := mixingModel(t, stream.AttnResConfig{})
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	s := rescueSources(t, store, c, ids)
	last := len(s.Sources) - 1
	assert.Equal(t, []string{"blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward", "unembedding"}, s.Readers, "the first reads one source, without a weight")
	run := runWithStates(t, store, c, ids)
	r := depthReader{t, store, run, "unembedding"}
	names := []string{"embedding.out", "blocks.0.attention.stream", "blocks.0.feedforward.stream", "blocks.1.attention.stream", "blocks.1.feedforward.stream"}
	weights := r.softmax("", names...)
	var read []float64
	for token := range ids {
		sum := make([]float64, len(r.rows(names[0])[token]))
		for i, name := range names[:last] {
			for d, v := range r.rows(name)[token] {
				sum[d] += weights[token][i] * v
			}
		}
		read = append(read, sum...)
	}
	without := runWithStates(t, store, c, ids, cache.Set("attnres.read", nil, read))
	assert.InDelta(t, lossOfLogits(without)-s.Loss, s.Ablated[last], 1e-9)
	require.NotNil(t, s.Left[last][3])
	assert.InDelta(t, 0, *s.Left[last][3], 1e-12)
	assert.Nil(t, s.Left[last][2])
	assert.Greater(t, math.Abs(s.Ablated[last]), 1e-6)
}
