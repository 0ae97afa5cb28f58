package runconfig

import "github.com/residua-go/residua/internal/settings"

// maxStepTokens is the largest number of tokens in a step, and maxSteps the largest number of
// steps: both far beyond any run, and small enough that their product does not overflow.
const (
	maxStepTokens = 1 << 32
	maxSteps      = 1_000_000_000
)

// checkProducts returns an error if the number of tokens per step or of steps is too large.
func (r *Run) checkProducts(where *settings.Positions) error {
	t := r.Train
	if n := r.StepTokens(); int64(n) > maxStepTokens {
		return where.Errorf("train.accumulate", "want at most %d tokens a step, got %d: batch %d x accumulate %d x seq %d", int64(maxStepTokens), n, t.Batch,
			t.Accumulate, r.Model.Seq)
	}
	if n := r.TotalSteps(); n > maxSteps {
		return where.Errorf("train.tokens", "want at most %d steps, got %d: %d tokens at %d a step", maxSteps, n, t.Tokens, r.StepTokens())
	}
	return nil
}
