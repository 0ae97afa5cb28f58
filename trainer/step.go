package trainer

import (
	"math"
	"time"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/optim"
)

// trainStep draws the micro-batches of one step, runs them and updates the parameters.
// A loss or gradient that is not finite is counted and changes nothing.
func (t *Trainer) trainStep() (Metrics, error) {
	begin := time.Now()
	defer t.times.endStep(begin)
	loss, err := t.gradient()
	if err != nil {
		return Metrics{}, err
	}
	stats := optim.Stats{GradNorm: math.NaN()}
	if !math.IsNaN(loss) && !math.IsInf(loss, 0) {
		update := time.Now()
		if stats, err = t.optimize.Step(1 / float64(t.run.Train.Accumulate)); err != nil {
			return Metrics{}, err
		}
		t.times.add(&t.times.optimizer, update)
	}
	t.step++
	t.badInRow++
	if stats.Finite {
		t.badInRow = 0
	} else {
		t.badTotal++
	}
	tokens := t.run.StepTokens()
	rate := perSecond(tokens, time.Since(begin))
	return Metrics{
		Step: t.step, Tokens: int64(t.step) * int64(tokens), Loss: number(loss), LR: stats.Factor * t.run.Train.LR,
		GradNorm: number(stats.GradNorm), TokensPS: math.Round(rate), FLOPsPS: math.Round(rate * t.flops),
		Seconds: t.before + time.Since(t.started).Seconds(), Skipped: !stats.Finite,
		Experts: t.experts.counts,
	}, nil
}

// perSecond is a rate; one that JSON can hold also where a coarse clock has not moved.
func perSecond(tokens int, took time.Duration) float64 {
	return float64(tokens) / max(took, time.Nanosecond).Seconds()
}

// gradient accumulates the gradient of all micro-batches of a step and returns the mean
// cross-entropy.
func (t *Trainer) gradient() (float64, error) {
	n := t.run.Train.Accumulate
	sum := 0.0
	for micro := range n {
		draw := time.Now()
		if err := t.batches.Next(t.program.Tokens, t.program.Targets); err != nil {
			return 0, err
		}
		t.times.add(&t.times.data, draw)
		step := uint64(t.step)*uint64(n) + uint64(micro)
		if err := t.program.Run(graph.RunOptions{Accumulate: micro > 0, Step: step, Profile: t.times.on()}); err != nil {
			return 0, err
		}
		crossEntropy, _, err := loss.Parts(t.program.Roots().Loss)
		if err != nil {
			return 0, err
		}
		sum += crossEntropy
		if err := t.experts.add(micro == 0); err != nil {
			return 0, err
		}
	}
	return sum / float64(n), nil
}
