package trainer

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// save writes a checkpoint of this step, unless there is one, and drops old ones.
func (t *Trainer) save() error {
	if t.saved == t.step {
		return nil
	}
	if err := t.metrics.sync(); err != nil {
		return err
	}
	metadata, err := Description{Model: t.run.Model, Data: t.run.Data}.metadata()
	if err != nil {
		return err
	}
	if err := t.store.ToHost(); err != nil {
		return err
	}
	state := checkpoint.State{
		Step: t.step, Tokens: int64(t.step) * int64(t.run.StepTokens()), BatchPosition: t.batches.Position(),
		CorpusFingerprint: t.corpus.Fingerprint, Seed: t.run.Seed, OptimizerSteps: t.optimize.Steps(), BadSteps: t.badTotal,
	}
	if !math.IsInf(t.best, 0) {
		state.BestLoss = &t.best
	}
	_, err = checkpoint.Save(t.run.Out, &checkpoint.Checkpoint{State: state, Model: values(t.store), Optimizer: moments(t.store), ModelMetadata: metadata})
	if err != nil {
		return err
	}
	t.saved = t.step
	return checkpoint.Prune(t.run.Out, t.run.Train.Keep)
}

// resume goes on from the checkpoint that mode names, if any.
func (t *Trainer) resume(ctx context.Context, mode Resume) error {
	dir := string(mode)
	switch mode {
	case ResumeNone, "":
		return nil
	case ResumeAuto:
		latest, warnings, err := checkpoint.Latest(t.run.Out)
		t.warn(warnings)
		if errors.Is(err, checkpoint.ErrNone) {
			return nil
		}
		if err != nil {
			return errors.Wrap(err, "-resume auto")
		}
		dir = latest
	default:
		source, err := checkpoint.Resolve(dir)
		if err != nil {
			return errors.Wrap(err, "-resume: want auto, none, or a run's or step's folder")
		}
		t.warn(source.Warnings)
		if dir = source.StepDir; dir == "" {
			return errors.Errorf("-resume: %s: want a step folder with optimizer and state, got a model alone: start from it with train.init_from", mode)
		}
	}
	return errors.Wrap(t.restore(ctx, dir), "-resume")
}

// warn reports what a search for a checkpoint passed over.
func (t *Trainer) warn(warnings []string) {
	for _, w := range warnings {
		t.report.Warn(w)
	}
}

// restore puts a checkpoint's weights, moments and positions back.
func (t *Trainer) restore(ctx context.Context, dir string) error {
	c, err := checkpoint.Load(filepath.Clean(dir))
	if err != nil {
		return err
	}
	if err := t.checkResume(ctx, c, dir); err != nil {
		return err
	}
	if err := setValues(t.store, c.Model); err != nil {
		return err
	}
	if err := setMoments(t.store, c.Optimizer); err != nil {
		return err
	}
	if err := t.store.ToDevice(); err != nil {
		return err
	}
	t.step, t.badTotal = c.State.Step, c.State.BadSteps
	t.optimize.SetSteps(c.State.OptimizerSteps)
	t.batches.Seek(c.State.BatchPosition)
	if c.State.BestLoss != nil {
		t.best = *c.State.BestLoss
	}
	if filepath.Dir(filepath.Dir(filepath.Clean(dir))) == filepath.Clean(t.run.Out) {
		t.saved = t.step
	}
	t.report.Note(fmt.Sprintf("resumed from %s at step %d", dir, t.step))
	return nil
}

// checkResume refuses a checkpoint that this run cannot go on from.
func (t *Trainer) checkResume(ctx context.Context, c *checkpoint.Checkpoint, dir string) error {
	d, err := describe(dir, c.ModelMetadata)
	if err != nil {
		return err
	}
	if err := t.run.Model.SameModel(d.Model); err != nil {
		return errors.Wrap(err, "the checkpoint is of another model")
	}
	if err := t.matchCorpus(ctx, c.State.CorpusFingerprint); err != nil {
		return err
	}
	if err := t.checkBatches(c.State, d.Data.MaskDocuments); err != nil {
		return err
	}
	if c.State.Step > t.run.TotalSteps() {
		return errors.Errorf("the checkpoint is of step %d, the run ends at %d: raise train.steps", c.State.Step, t.run.TotalSteps())
	}
	return nil
}

// checkBatches refuses a run whose next batches would not be those that the checkpoint's
// run had before it.
func (t *Trainer) checkBatches(s checkpoint.State, masked bool) error {
	const hint = "set it back, or start a new run with train.init_from"
	steps := int64(s.Step)
	switch {
	case s.Seed != t.run.Seed:
		return errors.Errorf("seed: want %d as the checkpoint's run, got %d: %s", s.Seed, t.run.Seed, hint)
	case masked != t.run.Data.MaskDocuments:
		return errors.Errorf("data.mask_documents: want %t as the checkpoint's run, got %t: %s", masked, t.run.Data.MaskDocuments, hint)
	case s.BatchPosition != uint64(steps)*uint64(t.run.Train.Accumulate):
		return errors.Errorf("train.accumulate: the checkpoint drew %d micro-batches in %d steps, got %d a step: %s", s.BatchPosition, steps, t.run.Train.Accumulate, hint)
	case s.Tokens != steps*int64(t.run.StepTokens()):
		return errors.Errorf("train.batch or model.seq: the checkpoint saw %d tokens in %d steps, got %d a step: %s", s.Tokens, steps, t.run.StepTokens(), hint)
	}
	return nil
}
