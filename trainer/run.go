package trainer

import (
	"context"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// Run trains until the last step, until a limit of train.stop is reached, or until ctx is
// cancelled. In the last case it drops the unfinished step, saves the last finished one and
// returns with Interrupted set; in a group all ranks first finish the step during which a
// rank's context was cancelled. If ctx is cancelled before the first step, there is nothing to
// save, and Run returns ctx's error.
func (t *Trainer) Run(ctx context.Context) (*Result, error) {
	total := t.run.TotalSteps()
	t.started = time.Now()
	t.savedAt = t.started
	t.report.Start(t.step(), total)
	defer t.report.Finish()
	if r, ok := t.report.(MicroReporter); ok && t.run.Train.Accumulate > 1 {
		t.learner.OnMicroBatch(r.Micro)
	}
	if err := t.checkStop(); err != nil {
		return nil, err
	}
	if t.unvalidated() {
		if err := t.validate(ctx); err != nil {
			return nil, err
		}
	}
	if err := t.checkStop(); err != nil { // again, because train.stop.loss needs the score
		return nil, err
	}
	if err := t.startLog(); err != nil {
		return nil, err
	}
	if t.step() > 0 {
		if err := t.recordStep(ctx); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	for !t.ended() && !t.interrupted(ctx) {
		if err := t.advance(ctx); err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
			return nil, err
		}
	}
	if t.step() == 0 {
		return nil, errors.Wrap(ctx.Err(), "before the first step")
	}
	if err := t.save(); err != nil {
		return nil, err
	}
	t.tidy()
	t.draw()
	return t.result(), nil
}

// result says how the run has ended.
func (t *Trainer) result() *Result {
	r := &Result{Steps: t.step(), Last: t.last, Interrupted: !t.ended(), Checkpoint: checkpoint.StepPath(t.run.Out, t.step())}
	if t.leads() {
		r.Spikes, r.LastSpike, r.Collapsed = t.metrics.spikes, t.metrics.lastSpike, t.metrics.stuck.now()
	}
	if !r.Interrupted {
		r.Final = t.score
	}
	if t.stopped != nil {
		r.Stopped = t.stopped.Key
	}
	return r
}

// advance makes one step and whatever is due after it: checkpoint, validation, weights for the log,
// recordings.
func (t *Trainer) advance(ctx context.Context) error {
	if err := t.stepAndScore(ctx); err != nil {
		return err
	}
	if err := t.keepWeights(); err != nil {
		return err
	}
	return t.recordStep(ctx)
}

// recordStep hands the newest step to the recordings.
func (t *Trainer) recordStep(ctx context.Context) error {
	m := t.last
	return t.recordings.step(ctx, &m)
}

// stepAndScore makes one step, and saves and validates it if that is due. It saves the step before
// anything else, so that no later failure loses training.
func (t *Trainer) stepAndScore(ctx context.Context) error {
	m, err := t.trainStep(ctx)
	if err != nil {
		return err
	}
	t.last, t.score = m, nil
	if !m.Skipped && t.saved >= 0 {
		t.good = t.saved // a finite step was made from that checkpoint
	}
	bad := t.givesUp()
	if err := t.checkStop(); err != nil {
		return err
	}
	validates := t.validates() && !bad
	if !validates {
		if err := t.record(); err != nil {
			return err
		}
	}
	if bad {
		if err := t.recordStep(ctx); err != nil {
			return err
		}
		return t.diverged()
	}
	if !validates && !t.saveDue() {
		return nil
	}
	if err := t.save(); err != nil {
		return err
	}
	if !validates {
		t.tidy()
		return nil
	}
	if err := t.validate(ctx); err != nil || t.run.Train.Stop.Loss == 0 {
		return err
	}
	return t.checkStop()
}

// interrupted tells whether training ends before its last step.
func (t *Trainer) interrupted(ctx context.Context) bool {
	if t.group != nil {
		return t.stop
	}
	return ctx.Err() != nil
}

// record writes the step's line to the metrics.
func (t *Trainer) record() error {
	if !t.leads() {
		return nil
	}
	news, err := t.metrics.add(&t.last)
	if err != nil {
		return err
	}
	t.report.Step(t.last)
	t.warn(news)
	return nil
}

// saveDue tells whether it is time for a checkpoint.
func (t *Trainer) saveDue() bool {
	c := t.run.Train
	if c.CheckpointEvery > 0 && t.step()%c.CheckpointEvery == 0 {
		return true
	}
	return t.due
}

// minutesPassed tells whether it is time for a checkpoint by the clock.
func (t *Trainer) minutesPassed() bool {
	minutes := t.run.Train.CheckpointMinutes
	return minutes > 0 && time.Since(t.savedAt).Minutes() >= minutes
}

// givesUp tells whether the newest step ends the run, because losses or gradients are no longer
// finite.
func (t *Trainer) givesUp() bool {
	return t.learner.Progress().SkippedInRow >= t.run.Train.MaxBadSteps
}

// diverged returns the error of a run that gives up.
func (t *Trainer) diverged() error {
	e := &DivergedError{Step: t.step(), Loss: float64(t.last.Loss), GradNorm: float64(t.last.GradNorm), InRow: t.learner.Progress().SkippedInRow}
	if t.good >= 0 {
		e.Good = checkpoint.StepPath(t.run.Out, t.good)
	}
	return errors.WithStack(e)
}
