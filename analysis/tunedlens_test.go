package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
)

// TestTunedLens: on rows that it has not seen the tuned lens is nearer to the model's own
// distribution than the logit lens after every writer, for streams with a norm alone after the map
// (vector, rows, sums over depth), with keys after it (matrix), with gates, and with a soft cap.
func TestTunedLens(t *testing.T) {
	t.Parallel()
	designs := zoo(t)
	designs["vector/cap"] = varied(t, designs["vector"], func(c *models.Config) { c.LogitSoftcap = 2 })
	names := []string{"vector/cap", "matrix"}
	if longtest.Enabled() {
		names = checked(t, "tuned lens", append(names, "vector")...)
	}
	for _, name := range names {
		c, known := designs[name]
		require.True(t, known, name)
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		_, fit, err := analysis.TuneLens(t.Context(), store, c, tokensFor(c, 40*c.Seq, 3), 50)
		require.NoError(t, err, name)
		assert.NotEmpty(t, fit.After, name)
		assert.Equal(t, 8*c.Seq, fit.Tokens, name)
		for i, after := range fit.After {
			assert.Less(t, fit.Tuned[i], fit.Plain[i], "%s: after %s", name, after)
			assert.Positive(t, fit.Tuned[i], "%s: after %s", name, after)
		}
	}
}

// TestTunedLensErrors: there must be rows to train on and rows to measure on.
func TestTunedLensErrors(t *testing.T) {
	c := zoo(t)["vector"]
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	_, _, err := analysis.TuneLens(t.Context(), store, c, tokensFor(c, 2*c.Seq-1, 3), 1)
	assert.ErrorIs(t, err, check.ValueError{Name: "text", Got: "17"})
	_, _, err = analysis.TuneLens(t.Context(), store, c, nil, -1)
	assert.ErrorIs(t, err, check.ValueError{Name: "steps", Got: "-1"})
}
