package modeltest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// check is one requirement for every model.
type check struct {
	name string
	run  func(t *testing.T, spec models.Spec)
}

// checks lists them in the order they run.
func checks(idle IdleFunc) []check {
	return []check{
		{"shapes", checkShapes},
		{"loss", checkLoss},
		{"logits-at", checkLogitsAt},
		{"causality", checkCausality},
		{"documents", checkDocuments},
		{"initial-function", checkInitialFunction},
		{"gradients", func(t *testing.T, spec models.Spec) { checkGradients(t, spec, idle) }},
		{"finite-differences", checkFiniteDifferences},
		{"stock-gradients", checkStockGradients},
		{"precision", checkPrecision},
		{"programs", checkPrograms},
		{"bfloat16", checkBFloat16},
		{"threads", checkThreads},
		{"dropout", checkDropout},
		{"cache", checkCache},
		{"window", checkWindow},
		{"seeds", checkSeeds},
		{"file", checkFile},
		{"cost", checkCost},
		{"accumulation", checkAccumulation},
		{"overfit", checkOverfit},
		{"decomposition", checkDecomposition},
	}
}

// Resolve returns the model that a config describes.
func Resolve(t *testing.T, c models.Config) models.Spec {
	t.Helper()
	s, err := c.Resolve()
	require.NoError(t, err)
	return s
}

// auxiliary holds the losses that checks of gradients add to the cross-entropy.
var auxiliary = models.Auxiliary{ZLoss: 1e-3, BalanceLoss: 0.01, RouterZLoss: 1e-3}

// varied returns a model with changes to its config.
func varied(t *testing.T, s models.Spec, change func(c *models.Config)) models.Spec {
	t.Helper()
	c, err := s.With(change)
	require.NoError(t, err)
	return c
}

// IdleFunc returns how many entries of a parameter have no gradient, whatever the weights are,
// because in the stream's equations nothing depends on them.
type IdleFunc func(spec models.Spec, p *graph.Param) int

// Run tests the model that c describes, as a subtest called name. c.Seq should be 6 to
// 12 and c.Vocab at least 8.
func Run(t *testing.T, name string, c models.Config) {
	t.Helper()
	RunIdle(t, name, c, func(models.Spec, *graph.Param) int { return 0 })
}

// RunChecks is like RunIdle, with the named checks alone.
func RunChecks(t *testing.T, name string, c models.Config, idle IdleFunc, names ...string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		spec := Resolve(t, c)
		for _, check := range checks(idle) {
			if slices.Contains(names, check.name) {
				t.Run(check.name, func(t *testing.T) { check.run(t, spec) })
			}
		}
	})
}

// RunIdle is like Run, for a stream where some entries of parameters have no gradient.
func RunIdle(t *testing.T, name string, c models.Config, idle IdleFunc) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		c := Resolve(t, c)
		require.True(t, c.Seq >= 6 && c.Seq <= 12 && c.Vocab >= 8, "want a config of 6 to 12 tokens and a vocabulary of 8 or more, got %d and %d", c.Seq, c.Vocab)
		for _, check := range checks(idle) {
			t.Run(check.name, func(t *testing.T) { check.run(t, c) })
		}
	})
}
