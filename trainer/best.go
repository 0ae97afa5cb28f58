package trainer

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// tidy makes best.json name the best step, as state.json does, and removes old
// checkpoints. Both can be made up for later: what fails is a warning.
func (t *Trainer) tidy() {
	if err := t.markBest(); err != nil && !errors.Is(err, checkpoint.ErrNone) {
		t.report.Warn(err.Error())
	}
	if err := t.disk.Prune(t.run.Out, t.run.Train.Keep, t.good, t.bestStep); err != nil {
		t.report.Warn("old checkpoints stay: " + err.Error())
	}
}

// markBest writes best.json, unless it is right already or there is nothing to mark. A mark
// of this step from a branch that was given up gets the score of what now stands there.
func (t *Trainer) markBest() error {
	if marked, ok := checkpoint.Marked(t.run.Out); ok && marked == t.step() && t.bestStep != t.step() && t.saved == t.step() && t.score != nil {
		if err := t.disk.MarkBest(t.run.Out, t.step(), t.score.Loss); err != nil {
			return err
		}
	}
	if t.bestStep < 0 {
		return nil
	}
	return t.disk.MarkBest(t.run.Out, t.bestStep, t.best)
}

// healBest makes up for a mark that a crash, or damage, has cost: the state tells the best.
func (t *Trainer) healBest() {
	err := t.markBest()
	if errors.Is(err, checkpoint.ErrNone) {
		err = errors.Errorf("the checkpoint of the best step so far, %d, is gone: best.json stays as it is until a better one comes", t.bestStep)
	}
	if err != nil {
		t.report.Warn(err.Error())
	}
}
