package trainer_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/trainer"
)

// TestNormsAreLogged: with train.log_norms N, the run logs every N steps and at the last step the
// norms of stream, weights and gradients, and learns the same.
func TestNormsAreLogged(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	run := smallest(t, text, out, "train.log_norms=5", "train.accumulate=2", "train.clip=0.01")
	train(t, run, trainer.Options{})
	all, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	quiet := filepath.Join(t.TempDir(), "quiet")
	train(t, smallest(t, text, quiet, "train.accumulate=2", "train.clip=0.01"), trainer.Options{})
	others, err := trainer.ReadMetrics(quiet)
	require.NoError(t, err)
	for i, m := range all {
		assert.Equal(t, others[i].Loss, m.Loss)
		if m.Step%5 != 0 && m.Step != 12 {
			assert.Nil(t, m.Norms)
			continue
		}
		require.NotNil(t, m.Norms, "step %d", m.Step)
		assert.Len(t, m.Norms.Stream, 3, "embedding, attention, feed-forward")
		for _, values := range [][]eval.Number{m.Norms.Stream, m.Norms.Weights, m.Norms.Gradients} {
			for _, v := range values {
				assert.Positive(t, float64(v))
			}
		}
		require.Len(t, m.Norms.Gradients, 1)
		share := float64(m.Norms.Gradients[0] / m.GradNorm)
		assert.True(t, share > 0.05 && share < 1, "the only block's share of the whole gradient, got %g", share)
	}
	assert.NotEqual(t, all[4].Norms.Weights, all[9].Norms.Weights)
	assert.False(t, math.IsNaN(float64(all[11].Norms.Weights[0])))
}
