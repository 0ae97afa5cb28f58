package trainer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer/learner"
)

// start sets the run to its first step, to a checkpoint of its own or, as a fork, to a checkpoint
// of another run.
func (t *Trainer) start(ctx context.Context) error {
	o := t.options
	t.id = rand.Text() // identifies this run
	switch {
	case o.Fork != "":
		source, err := t.stepSource(o.Fork)
		if err == nil {
			err = t.fork(ctx, source.StepDir)
		}
		t.folder.before = source.RunDir
		return errors.Wrap(err, "-fork")
	case o.Resume == ResumeNone:
		return nil
	}
	t.folder.before = t.run.Out
	if o.Resume == ResumeAuto {
		return errors.Wrap(t.resumeNewest(ctx), "-resume auto")
	}
	return errors.Wrap(t.resumeAt(ctx, string(o.Resume)), "-resume")
}

// stepSource finds the step folder that a path names.
func (t *Trainer) stepSource(path string) (checkpoint.Source, error) {
	source, err := checkpoint.Resolve(path)
	if err != nil {
		return source, err
	}
	t.warn(source.Warnings)
	if _, missing := os.Stat(filepath.Join(source.StepDir, checkpoint.OptimizerFile)); source.StepDir == "" || missing != nil {
		return source, errors.Errorf("%s: want a step folder with optimizer and state, got a model alone: start from it with train.init_from", path)
	}
	return source, nil
}

// warn reports warnings.
func (t *Trainer) warn(warnings []string) {
	for _, w := range warnings {
		t.report.Warn(w)
	}
}

// resumeNewest goes on from the folder's newest undamaged checkpoint, if there is one.
func (t *Trainer) resumeNewest(ctx context.Context) error {
	dir, warnings, err := checkpoint.Latest(t.run.Out)
	t.warn(warnings)
	if errors.Is(err, checkpoint.ErrNone) {
		t.report.Note(fmt.Sprintf("%s has no checkpoint to resume from: the run starts anew", t.run.Out))
		return nil
	}
	if err != nil {
		return err
	}
	return t.resumeFrom(ctx, dir, true)
}

// resumeAt goes on from the checkpoint at a path, if it belongs to this run.
func (t *Trainer) resumeAt(ctx context.Context, path string) error {
	source, err := t.stepSource(path)
	if err != nil {
		return errors.Wrap(err, "want auto, none, or the folder of a step of this run")
	}
	own, err := t.checkOwn(source.StepDir)
	if err != nil {
		return err
	}
	return t.resumeFrom(ctx, source.StepDir, own)
}

// resumeFrom goes on from a checkpoint of this run; own tells that it lies in the run's folder.
func (t *Trainer) resumeFrom(ctx context.Context, dir string, own bool) error {
	s, err := t.load(ctx, dir, "resumed")
	if err != nil {
		return err
	}
	if s.Run != "" {
		t.id = s.Run
	}
	if s.BestLoss != nil {
		t.best = *s.BestLoss
	}
	t.bestStep, t.good = stepOf(s.BestStep), stepOf(s.GoodStep)
	if own {
		t.saved = t.step()
	}
	return nil
}

// fork starts a new run from another run's checkpoint. The new run's best score starts as the
// score of that checkpoint; the other run's best is not taken over.
func (t *Trainer) fork(ctx context.Context, dir string) error {
	_, err := t.load(ctx, dir, "forked")
	if err == nil && t.score != nil && t.score.Loss < t.best {
		t.best, t.bestStep = t.score.Loss, t.step()
	}
	return err
}

// load restores a checkpoint and reports it; done is the verb of the report, "resumed" or
// "forked".
func (t *Trainer) load(ctx context.Context, dir, done string) (checkpoint.State, error) {
	c, err := checkpoint.Load(filepath.Clean(dir))
	if err != nil {
		return checkpoint.State{}, err
	}
	if err := t.restore(ctx, c, dir); err != nil {
		return c.State, err
	}
	t.report.Note(fmt.Sprintf("%s from %s at step %d", done, dir, t.step()))
	return c.State, nil
}

// stepOf returns the step that a state's pointer holds, -1 for nil.
func stepOf(step *int) int {
	if step == nil {
		return -1
	}
	return *step
}

// restore puts back a checkpoint's weights, optimizer state and positions.
func (t *Trainer) restore(ctx context.Context, c *checkpoint.Checkpoint, dir string) error {
	if err := t.checkResume(ctx, c, dir); err != nil {
		return err
	}
	s := c.State
	for key, into := range map[string]any{extraMetrics: &t.last, extraValidation: &t.score} {
		if text, ok := s.Extra[key]; ok {
			if err := json.Unmarshal(text, into); err != nil {
				return errors.Wrapf(err, "%s: extra %q", filepath.Join(dir, checkpoint.StateFile), key)
			}
		}
	}
	if err := setValues(t.store.Trained(), c.Model); err != nil {
		return err
	}
	if err := t.setOptimizer(c.Optimizer); err != nil {
		return err
	}
	if err := t.store.ToDevice(); err != nil {
		return err
	}
	if s.Numerics != graph.Numerics {
		t.report.Warn(fmt.Sprintf("the checkpoint was trained with sums in another order (numerics %d, this program's is %d): from here on the losses "+
			"differ in their last bits from those of that program", s.Numerics, graph.Numerics))
	}
	if path := t.run.Device.Path(); s.Path != "" && path != "" && s.Path != path {
		t.report.Warn(fmt.Sprintf("the checkpoint was trained with other instructions of the processor (%s, here %s): from here on the losses differ in "+
			"their last bits from those of that machine", s.Path, path))
	}
	t.learner.Resume(learner.Progress{Steps: s.Step, Updates: s.OptimizerSteps, Skipped: s.BadSteps, SkippedInRow: s.BadInRow})
	t.batches.Seek(s.BatchPosition)
	return nil
}

// checkResume refuses a checkpoint that this run cannot go on from.
func (t *Trainer) checkResume(ctx context.Context, c *checkpoint.Checkpoint, dir string) error {
	d, err := pretrained.Describe(t.run.Zoo(), dir, c.ModelMetadata)
	if err != nil {
		return err
	}
	if err := t.run.Spec().SameModel(d.Spec); err != nil {
		return cannotResume("model", "the checkpoint is of another model: %v", err)
	}
	if err := t.checkAdapted(d.Adapted); err != nil {
		return err
	}
	if err := t.matchCorpus(ctx, c.State.CorpusFingerprint); err != nil {
		return err
	}
	if err := t.checkBatches(c.State, d.Data); err != nil {
		return err
	}
	if c.State.Step > t.run.TotalSteps() {
		return cannotResume("train.steps", "the checkpoint is of step %d, the run ends at %d: raise train.steps", c.State.Step, t.run.TotalSteps())
	}
	return nil
}

// checkAdapted refuses a checkpoint of other adapters, or of adapters on another model.
func (t *Trainer) checkAdapted(of *pretrained.Adapted) error {
	var then, now pretrained.Adapted
	if of != nil {
		then = *of
	}
	if t.adapted != nil {
		now = *t.adapted
	}
	switch {
	case !reflect.DeepEqual(then.Lora, now.Lora):
		return cannotResume("train.lora", "train.lora: want %s as the checkpoint's run, got %s: set it back, or start a new run with train.init_from",
			settings.Text(then.Lora), settings.Text(now.Lora))
	case then.Digest != now.Digest:
		return cannotResume("train.init_from", "train.init_from: want the model that the adapters were trained on, %s of digest %.12s, "+
			"got %s of digest %.12s", then.Base, then.Digest, now.Base, now.Digest)
	}
	return nil
}

// checkBatches refuses a run whose next batches would differ from those of the checkpoint's run,
// whose section data was then.
func (t *Trainer) checkBatches(s checkpoint.State, then runconfig.Data) error {
	const hint = "set it back, or start a new run with train.init_from"
	steps := int64(s.Step)
	switch {
	case s.Seed != t.run.Seed:
		return cannotResume("seed", "seed: want %d as the checkpoint's run, got %d: %s", s.Seed, t.run.Seed, hint)
	case then.MaskDocuments != t.run.Data.MaskDocuments:
		return cannotResume("data.mask_documents", "data.mask_documents: want %t as the checkpoint's run, got %t: %s", then.MaskDocuments,
			t.run.Data.MaskDocuments, hint)
	case then.Cut != t.run.Data.Cut:
		return cannotResume("data.cut", "data.cut: want %t as the checkpoint's run, got %t: %s", then.Cut, t.run.Data.Cut, hint)
	case s.BatchPosition != uint64(steps)*uint64(t.run.Train.Accumulate):
		return cannotResume("train.accumulate", "train.accumulate: the checkpoint drew %d micro-batches in %d steps, got %d a step: %s", s.BatchPosition, steps,
			t.run.Train.Accumulate, hint)
	case s.Tokens != steps*int64(t.run.StepTokens()):
		return cannotResume("train.batch", "train.batch or model.seq: the checkpoint saw %d tokens in %d steps, got %d a step: %s", s.Tokens, steps,
			t.run.StepTokens(), hint)
	}
	return nil
}
