package config

import "github.com/residua-go/residua/settings"

// maxStepTokens is the greatest number of tokens of a step, and maxSteps that of steps: far
// beyond any run, and small enough for their product to be counted.
const (
	maxStepTokens = 1 << 32
	maxSteps      = 1_000_000_000
)

// checkProducts wants steps whose tokens can be counted.
func (r *Run) checkProducts(where *settings.Positions) error {
	t := r.Train
	if n := r.StepTokens(); n > maxStepTokens {
		return where.Errorf("train.accumulate", "want at most %d tokens a step, got %d: batch %d x accumulate %d x seq %d", int64(maxStepTokens), n, t.Batch, t.Accumulate, r.Model.Seq)
	}
	if n := r.TotalSteps(); n > maxSteps {
		return where.Errorf("train.tokens", "want at most %d steps, got %d: %d tokens at %d a step", maxSteps, n, t.Tokens, r.StepTokens())
	}
	return nil
}
