package mixing_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis/cache"
	"github.com/residua-go/residua/analysis/mixing"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// lossOf is the mean loss of each next token, of a run's logits.
func lossOf(run *cache.Cache) float64 {
	sum := 0.0
	for t, next := range run.IDs[1:] {
		total := 0.0
		for _, z := range run.Logits[t*run.Vocab:][:run.Vocab] {
			total += math.Exp(z)
		}
		sum += math.Log(total) - run.Logits[t*run.Vocab+int(next)]
	}
	return sum / float64(len(run.IDs)-1)
}

// rescue ablates a tiny model's sources, and checks that the result can be shown.
func rescue(t *testing.T, store *graph.Store, c models.Spec, ids []int32) *mixing.SourceRescue {
	s, err := mixing.AblateSources(store, c, ids)
	require.NoError(t, err)
	assert.InDelta(t, lossOf(runAll(t, store, c, ids)), s.Loss, 1e-12)
	require.NoError(t, figure.Check(s.Table()))
	for _, f := range s.Figures() {
		require.NoError(t, figure.Check(f))
	}
	_, err = json.Marshal(s)
	require.NoError(t, err)
	return s
}

// TestSourcesOfWeightsByHand: leaving a source out of a DenseFormer's or MUDD's sums is the model whose parameters give it the weight 0, and
// keeping it for one reader is that model with this reader's weights as they were.
func TestSourcesOfWeightsByHand(t *testing.T) {
	for name, row := range map[string]struct {
		design stream.Design
		// drop makes the weight of a source 0 in the sums after a block, those of all readers but one.
		drop func(store *graph.Store, block, source, kept int)
	}{
		"denseformer": {stream.DenseFormerConfig{}, func(store *graph.Store, block, source, kept int) {
			if kept != 0 {
				store.Param([]string{"blocks.0.dwa", "blocks.1.dwa"}[block]).Value.Float64s()[source] = 0
			}
		}},
		"mudd": {stream.MUDDConfig{}, func(store *graph.Store, block, source, kept int) {
			prefix := []string{"blocks.0", "blocks.1"}[block]
			w2, bias := store.Param(prefix+".mudd.w2").Value.Float64s(), store.Param(prefix+".mudd.bias").Value.Float64s()
			for j := range bias {
				if j%(block+2) == source && j/(block+2) != kept {
					bias[j] = 0
					for i := j; i < len(w2); i += len(bias) {
						w2[i] = 0
					}
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, ids := tiny(t, row.design)
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			s := rescue(t, store, c, ids)
			assert.Equal(t, []string{"embedding", "blocks.0", "blocks.1"}, s.Sources)
			first := len(s.Readers) - 1 // readers after block 0; one after the last
			for source := range s.Sources {
				for kept := -1; kept < len(s.Readers); kept++ {
					left := modeltest.PerturbedStore(t, c, tensor.Float64)
					for block, at := range []int{kept, kept - first} {
						if source < block+2 {
							row.drop(left, block, source, at)
						}
					}
					want := lossOf(runAll(t, left, c, ids)) - s.Loss
					switch {
					case kept < 0:
						assert.InDelta(t, want, s.Ablated[source], 1e-12, s.Sources[source])
					case source == 2 && kept < first:
						assert.Nil(t, s.Left[source][kept], "blocks.1 is read at the end alone")
					default:
						require.NotNil(t, s.Left[source][kept])
						assert.InDelta(t, want, *s.Left[source][kept], 1e-12, "%s by %s", s.Sources[source], s.Readers[kept])
					}
				}
			}
		})
	}
}

// TestSourceOfASoftmax: without a source the other weights stay as they are: what the last reader gets is the sum of the others. Where it
// alone reads the source, keeping it regains all.
func TestSourceOfASoftmax(t *testing.T) {
	c, ids := tiny(t, stream.AttnResConfig{})
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	s := rescue(t, store, c, ids)
	last := len(s.Sources) - 1
	assert.Equal(t, []string{"blocks.0.feedforward", "blocks.1.attention", "blocks.1.feedforward", "unembedding"}, s.Readers, "the first reads one source, without a weight")
	run := runAll(t, store, c, ids)
	r := reader{t, store, run, "unembedding"}
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
	without := runAll(t, store, c, ids, cache.Set("attnres.read", nil, read))
	assert.InDelta(t, lossOf(without)-s.Loss, s.Ablated[last], 1e-9)
	require.NotNil(t, s.Left[last][3])
	assert.InDelta(t, 0, *s.Left[last][3], 1e-12)
	assert.Nil(t, s.Left[last][2])
	assert.Greater(t, math.Abs(s.Ablated[last]), 1e-6)
}
