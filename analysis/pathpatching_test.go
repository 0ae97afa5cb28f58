package analysis_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// patchLoops runs a small model whose hooks overwrite activations by plain loops.
type patchLoops struct {
	t     *testing.T
	spec  models.Spec
	store *graph.Store
}

const patchSeq, patchVocab = 4, 13

func newPatchLoops(t *testing.T, s stream.Design) patchLoops {
	c := models.Config{Stream: s, Layers: 2, FeedForward: layers.GELUConfig{Hidden: 17}, Vocab: patchVocab, Seq: 5}
	if s.Name() == "vector" {
		c.Attention.Heads = 3
	}
	spec := modeltest.Resolve(t, c)
	return patchLoops{t, spec, modeltest.PerturbedStore(t, spec, tensor.Float64)}
}

// run returns logit 5 of the last token with activations overwritten, and fills those of seen.
func (p patchLoops) run(ids []int32, hold, seen map[string][]float64) float64 {
	hooks := graph.Hooks{}
	for _, names := range []map[string][]float64{hold, seen} {
		for name := range names {
			hooks[name] = func(name string, x *tensor.Dense) error {
				for i, v := range hold[name] {
					x.Float64s()[i] = v
				}
				if _, wanted := seen[name]; wanted {
					seen[name] = slices.Clone(x.Float64s())
				}
				return nil
			}
		}
	}
	c := modeltest.Compile(p.t, p.spec, p.store, modeltest.Setup{Hooks: hooks, Rows: 1, Seq: patchSeq})
	batch := modeltest.Batch{Inputs: ids, Targets: make([]int32, patchSeq), Rows: 1, Seq: patchSeq}
	return c.On(p.t, batch, graph.RunOptions{}).Logits[(patchSeq-1)*patchVocab+5]
}

var patchDesigns = []stream.Design{stream.VectorConfig{Vectors: stream.Vectors{D: 12}}, stream.MatrixConfig{Dk: 5, Dv: 6, Rank: 3}}

// TestPathPatch: the effect of each head on the way to another head's queries, to all keys and to
// the logits is what two runs give whose hooks write the held values by plain loops.
func TestPathPatch(t *testing.T) {
	clean, corrupt := []int32{1, 2, 3, 4}, []int32{1, 7, 3, 4}
	for _, s := range patchDesigns {
		p := newPatchLoops(t, s)
		heads := func(layer int) string { return fmt.Sprintf("blocks.%d.attention.heads", layer) }
		all := []string{heads(0), heads(1), "blocks.0.feedforward.write", "blocks.1.feedforward.write"}
		for _, to := range []struct {
			name string
			at   cache.At
		}{{"blocks.1.attention.q", cache.At{"head": 2}}, {"blocks.1.attention.k", nil}, {"logits", nil}} {
			found, err := analysis.PathPatch(t.Context(), p.store, p.spec, clean, corrupt, analysis.LogitOf(3, 5, -1), to.name, to.at)
			require.NoError(t, err)
			from, base := map[string][]float64{}, map[string][]float64{to.name: nil}
			for _, name := range all {
				from[name], base[name] = nil, nil
			}
			own, other := p.run(clean, nil, from), p.run(corrupt, nil, base)
			assert.InDelta(t, own, found.Clean, 1e-9)
			assert.InDelta(t, other, found.Baseline, 1e-9)
			changed := 0
			for layer := range 2 {
				for head := range 3 {
					held := map[string][]float64{}
					for _, name := range all {
						held[name] = slices.Clone(base[name])
					}
					width := len(base[heads(0)]) / patchSeq / 3
					for token := range patchSeq {
						for i := range width {
							at := (token*3+head)*width + i
							held[heads(layer)][at] = from[heads(layer)][at]
						}
					}
					seen := map[string][]float64{to.name: nil}
					p.run(corrupt, held, seen)
					value := slices.Clone(seen[to.name])
					if to.at != nil { // head 2 alone
						part := len(value) / patchSeq / 3
						for i := range value {
							if i/part%3 != 2 {
								value[i] = base[to.name][i]
							}
						}
					}
					effect := (p.run(corrupt, map[string][]float64{to.name: value}, nil) - other) / (own - other)
					assert.InDelta(t, effect, found.Effect[layer][head], 1e-9, "%s to %s, layer %d head %d", s.Name(), to.name, layer, head)
					if effect != 0 {
						changed++
					}
				}
			}
			assert.GreaterOrEqual(t, changed, 3)
			assert.Equal(t, strings.HasPrefix(to.name, "blocks.1"), found.Effect[1][0] == 0, "heads of block 1 are after its queries")
		}
		_, err := analysis.PathPatch(t.Context(), p.store, p.spec, clean, corrupt, analysis.LogitOf(3, 5, -1), "blocks.9.attention.q", nil)
		require.ErrorContains(t, err, "blocks.9.attention.q")
	}
}

// TestIntegratedGradients: effects are means of difference quotients between the two runs, by plain
// loops, and of the embedding, through which everything passes, sum to 1.
func TestIntegratedGradients(t *testing.T) {
	clean, corrupt := []int32{1, 2, 3, 4}, []int32{1, 7, 3, 4}
	const points, step = 8, 1e-5
	for _, s := range patchDesigns {
		p := newPatchLoops(t, s)
		names := []string{"embedding.out", "blocks.0.feedforward.write", "blocks.1.attention.v"}
		found, err := analysis.PatchNames(t.Context(), p.store, p.spec, clean, corrupt, analysis.LogitOf(3, 5, -1), points, names...)
		require.NoError(t, err)
		require.Equal(t, []string{"embedding.out", "blocks.0.feedforward.write", "blocks.1.attention.v"}, found.Rows)
		for i, name := range names {
			from, base := map[string][]float64{name: nil}, map[string][]float64{name: nil}
			own, other := p.run(clean, nil, from), p.run(corrupt, nil, base)
			size := len(base[name]) / patchSeq
			for token := range patchSeq {
				effect := 0.0
				for point := range points {
					var ends [2]float64
					for e, sign := range []float64{1, -1} {
						at := slices.Clone(base[name])
						for j := range at {
							difference := from[name][j] - base[name][j]
							at[j] += (float64(point) + 0.5) / points * difference
							if j/size == token {
								at[j] += sign * step * difference
							}
						}
						ends[e] = p.run(corrupt, map[string][]float64{name: at}, nil)
					}
					effect += (ends[0] - ends[1]) / (2 * step) / points
				}
				assert.InDelta(t, effect/(own-other), found.Effect[i][token], 1e-6, "%s %s token %d", s.Name(), name, token)
			}
		}
		sum := 0.0
		for _, e := range found.Effect[0] {
			sum += e
		}
		assert.InDelta(t, 1, sum, 0.05, s.Name())
	}
}

// TestPatchingAgainstTransformers: paths and integrated gradients of a small GPT-2 are what
// transformers and torch give (testdata/analysis/gpt2_patching.py).
func TestPatchingAgainstTransformers(t *testing.T) {
	text, err := os.ReadFile("../testdata/analysis/gpt2-patching.json")
	require.NoError(t, err)
	var want struct {
		Clean, Corrupt          []int32
		Target, Against, Points int
		MetricClean             float64     `json:"metric_clean"`
		MetricCorrupt           float64     `json:"metric_corrupt"`
		ToLogits                [][]float64 `json:"to_logits"`
		ToQ                     [][]float64 `json:"to_q"`
		Embedding, FeedForward  []float64
	}
	require.NoError(t, json.Unmarshal(text, &want))
	p := gpt2(t)
	metric := analysis.LogitOf(len(want.Clean)-1, want.Target, want.Against)
	for to, effects := range map[string][][]float64{"logits": want.ToLogits, "blocks.1.attention.q": want.ToQ} {
		found, err := analysis.PathPatch(t.Context(), p.Store, p.Spec, want.Clean, want.Corrupt, metric, to, map[bool]cache.At{true: {"head": 1}}[to != "logits"])
		require.NoError(t, err)
		assert.InDelta(t, want.MetricClean, found.Clean, 1e-5)
		assert.InDelta(t, want.MetricCorrupt, found.Baseline, 1e-5)
		for layer, row := range effects {
			assert.InDeltaSlice(t, row, found.Effect[layer], 3e-5, to)
		}
	}
	found, err := analysis.PatchNames(t.Context(), p.Store, p.Spec, want.Clean, want.Corrupt, metric, want.Points, "embedding.out", "blocks.0.feedforward.write")
	require.NoError(t, err)
	assert.InDeltaSlice(t, want.Embedding, found.Effect[0], 3e-5)
	assert.InDeltaSlice(t, want.FeedForward, found.Effect[1], 3e-5)
}
