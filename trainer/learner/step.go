package learner

import (
	"cmp"
	"context"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/optim"
)

// Step reports what a training step did. If the loss or the gradient was not finite, Stats.Finite
// is false and nothing was changed; if it was the loss, GradNorm is NaN and Factor 0.
type Step struct {
	optim.Stats
	N    int     // number of the step, from 1
	Loss float64 // mean cross-entropy before the update, in nats a token, without auxiliary losses

	Stop   bool // in a Group: the context of some rank has ended, so that all ranks stop after this step
	Signal bool // Options.Signal returned true on some rank
}

// Train makes the given number of steps and calls the function each, unless it is nil, after every
// step. It stops early and returns the error if each returns one or ctx ends; in a Group, if the
// context of any rank ends.
func (l *Learner) Train(ctx context.Context, steps int, each func(Step) error) error {
	for range steps {
		if err := ctx.Err(); err != nil && l.ranks == nil {
			return err
		}
		s, err := l.Step(ctx)
		if err == nil && each != nil {
			err = each(s)
		}
		if err == nil && s.Stop {
			err = cmp.Or(ctx.Err(), context.Canceled)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Step makes one step: it calls Gradient and Update.
func (l *Learner) Step(ctx context.Context) (Step, error) {
	begin, s := l.timed(), Step{}
	var err error
	if s.Loss, err = l.Gradient(ctx); err != nil {
		return s, err
	}
	s.Stats, err = l.Update()
	s.N, s.Stop, s.Signal = l.progress.Steps, l.stop, l.signalled
	if err != nil {
		return s, err
	}
	return s, l.endStep(begin)
}

// Gradient runs the micro-batches of a step forward and backward and returns their mean
// cross-entropy, in nats a token. The Store then holds the sum of their gradients, for Update.
// A second call starts over with the next micro-batches. When ctx ends, Gradient stops between
// two ops and returns ctx's error; it has then drawn some of the micro-batches, but changed
// neither parameters nor progress.
//
// In a Group all ranks call Gradient, which then finishes even if ctx ends. It returns the
// mean over all ranks' micro-batches, and the Store holds the summed gradients of the entries
// that this rank updates.
func (l *Learner) Gradient(ctx context.Context) (float64, error) {
	l.ready, l.stop = false, false
	compute := ctx
	if l.ranks != nil {
		l.ranks.begin()
		compute = context.WithoutCancel(ctx)
	}
	first, n := l.share()
	if err := l.countTargets(); err != nil {
		return 0, err
	}
	if err := l.skip(first); err != nil {
		return 0, err
	}
	sum := 0.0
	for micro := first; micro < first+n; micro++ {
		crossEntropy, err := l.run(compute, micro, micro == first, micro == first+n-1)
		if err != nil {
			return 0, err
		}
		sum += crossEntropy
		if l.onMicro != nil {
			l.onMicro(micro-first+1, n)
		}
	}
	err := l.skip(l.accumulate - first - n)
	if err == nil {
		sum, err = l.finish(ctx, sum)
	}
	if err != nil {
		return 0, err
	}
	l.loss, l.ready = sum/float64(l.accumulate), true
	return l.loss, nil
}

// countTargets makes the loss of each micro-batch of a step divide by the same number, if the
// batches are a Counter: by the step's targets divided by its micro-batches. The mean of the
// micro-batches' losses, which Update uses, is then the mean over all targets.
func (l *Learner) countTargets() error {
	c, ok := l.batches.(Counter)
	if !ok {
		return nil
	}
	total := 0
	for _, n := range c.Targets(l.accumulate) {
		total += n
	}
	return loss.SetCount(l.program.Roots().Loss, float64(total)/float64(l.accumulate))
}

// finish turns the summed loss of this rank's micro-batches into the sum over all ranks.
func (l *Learner) finish(ctx context.Context, loss float64) (float64, error) {
	if l.ranks == nil {
		l.signalled = l.signal != nil && l.signal()
		return loss, nil
	}
	begin := l.timed()
	loss, err := l.exchange(ctx, loss)
	l.add(&l.times.Ranks, begin)
	return loss, err
}

// run adds a micro-batch's gradient to the step's and returns its cross-entropy. first and last
// tell whether it is the first and the last of this rank's.
func (l *Learner) run(ctx context.Context, micro int, first, last bool) (float64, error) {
	draw := l.timed()
	if err := l.batches.Next(l.program.Tokens, l.program.Targets); err != nil {
		return 0, err
	}
	l.add(&l.times.Data, draw)
	step := uint64(l.progress.Steps)*uint64(l.accumulate) + uint64(micro)
	o := graph.RunOptions{Accumulate: !first, Step: step, Profile: l.profile, Context: ctx}
	if last && l.ranks != nil && l.ranks.device == nil {
		o.Final = l.ranks.final
	}
	if err := l.program.Run(o); err != nil {
		return 0, err
	}
	if err := l.countExperts(first); err != nil {
		return 0, err
	}
	crossEntropy, _, err := loss.Parts(l.program.Roots().Loss)
	return crossEntropy, err
}

// Update changes the parameters by the mean gradient of the last Gradient's micro-batches and
// counts the step. If the loss or the gradient is not finite, it counts the step as skipped and
// changes nothing.
func (l *Learner) Update() (optim.Stats, error) {
	if !l.ready {
		return optim.Stats{}, errors.New("learner: want a gradient to update by, got none: call Gradient first")
	}
	l.ready = false
	stats := optim.Stats{GradNorm: math.NaN()}
	if !math.IsNaN(l.loss) && !math.IsInf(l.loss, 0) {
		begin, pool := l.timed(), l.optimizer.Pool()
		pool.BeginRun()
		var err error
		stats, err = l.update(1 / float64(l.accumulate))
		pool.EndRun(&l.times.Simulation)
		if err != nil {
			return stats, err
		}
		l.add(&l.times.Optimizer, begin)
	}
	l.progress.Steps++
	if stats.Finite {
		l.progress.SkippedInRow = 0
	} else {
		l.progress.Skipped++
		l.progress.SkippedInRow++
	}
	return stats, nil
}
