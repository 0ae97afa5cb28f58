package trainer

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// tidy makes best.json name the best step of state.json and removes old checkpoints. An error
// of either is only a warning, because a later call tries both again.
func (t *Trainer) tidy() {
	if !t.leads() {
		return
	}
	if err := t.markBest(); err != nil && !errors.Is(err, checkpoint.ErrNone) {
		t.report.Warn(err.Error())
	}
	if err := t.folder.Prune(t.run.Out, t.run.Train.Keep, t.good, t.bestStep); err != nil {
		t.report.Warn("old checkpoints stay: " + err.Error())
	}
}

// markBest writes best.json unless it names the best step already. If best.json names the
// current step, which an abandoned branch of the run had marked, markBest first replaces the
// score in it by the score of the checkpoint that is there now.
func (t *Trainer) markBest() error {
	if marked, ok := checkpoint.Marked(t.run.Out); ok && marked == t.step() && t.bestStep != t.step() && t.saved == t.step() && t.score != nil {
		if err := t.folder.MarkBest(t.run.Out, t.step(), t.score.Loss); err != nil {
			return err
		}
	}
	if t.bestStep < 0 {
		return nil
	}
	return t.folder.MarkBest(t.run.Out, t.bestStep, t.best)
}

// healBest calls markBest at the start of a run, because a crash or damage may have lost
// best.json.
func (t *Trainer) healBest() {
	err := t.markBest()
	if errors.Is(err, checkpoint.ErrNone) {
		err = errors.Errorf("the checkpoint of the best step so far, %d, is gone: best.json stays as it is until a better one comes", t.bestStep)
	}
	if err != nil {
		t.report.Warn(err.Error())
	}
}
