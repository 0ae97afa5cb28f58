package trainer

import (
	"context"
	"math"
	"time"

	"github.com/residua-go/residua/eval"
)

// trainStep makes one step. If ctx ends it, the run is as before the step and draws the same
// batches again.
func (t *Trainer) trainStep(ctx context.Context) (Metrics, error) {
	begin, position := time.Now(), t.batches.Position()
	s, err := t.learner.Step(ctx)
	if err != nil {
		t.batches.Seek(position)
		return Metrics{}, err
	}
	t.stop, t.due = s.Stop, s.Signal
	t.learner.Profile(t.options.Profile) // from the second step on, because the first allocates buffers
	tokens := t.run.StepTokens()
	rate := perSecond(tokens, time.Since(begin))
	m := Metrics{
		Step: s.N, Tokens: int64(s.N) * int64(tokens), Loss: eval.Number(s.Loss), LR: s.Factor * t.run.Train.LR,
		GradNorm: eval.Number(s.GradNorm), TokensPS: math.Round(rate), FLOPsPS: math.Round(rate * t.flops),
		Seconds: t.before + time.Since(t.started).Seconds(), Skipped: !s.Finite,
		Experts: t.learner.ExpertCounts(),
	}
	return m, t.measures.step(ctx, &m)
}

// perSecond returns a rate. It is finite, as JSON needs, even if a coarse clock has not advanced.
func perSecond(tokens int, took time.Duration) float64 {
	return float64(tokens) / max(took, time.Nanosecond).Seconds()
}
