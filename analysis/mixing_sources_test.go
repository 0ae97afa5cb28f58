package analysis_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// lossOfLogits is the mean loss of each next token, of a run's logits.
func lossOfLogits(run *cache.Cache) float64 {
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

// rescueSources ablates a tiny model's sources, and checks that the result can be shown.
func rescueSources(t *testing.T, store *graph.Store, spec models.Spec, ids []int32) *analysis.SourceRescue {
	s, err := analysis.AblateSources(t.Context(), store, spec, ids)
	require.NoError(t, err)
	assert.InDelta(t, lossOfLogits(runWithStates(t, store, spec, ids)), s.Loss, 1e-12)
	require.NoError(t, figure.Check(s.Table()))
	for _, f := range s.Figures() {
		require.NoError(t, figure.Check(f))
	}
	_, err = json.Marshal(s)
	require.NoError(t, err)
	return s
}

// checkMixingSources: leaving a source out of a stream's sums is the model whose parameters give it
// the weight 0, and keeping it for one reader is that model with this reader's weights as they
// were. drop makes the weight of a source 0 in the sums after a block, those of all readers but
// one.
func checkMixingSources(t *testing.T, design stream.Design, drop func(store *graph.Store, block, source, kept int)) {
	c, ids := mixingModel(t, design)
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	s := rescueSources(t, store, c, ids)
	assert.Equal(t, []string{"embedding", "blocks.0", "blocks.1"}, s.Sources)
	first := len(s.Readers) - 1 // readers after block 0; one after the last
	for source := range s.Sources {
		for kept := -1; kept < len(s.Readers); kept++ {
			left := modeltest.PerturbedStore(t, c, tensor.Float64)
			for block, at := range []int{kept, kept - first} {
				if source < block+2 {
					drop(left, block, source, at)
				}
			}
			want := lossOfLogits(runWithStates(t, left, c, ids)) - s.Loss
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
}
