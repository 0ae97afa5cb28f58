package train

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// verdict says in what way a finished run has ended with a worthless model.
type verdict struct{ diverged, collapsed bool }

// verdictOn judges by the validation loss or, without validation text, by the last step's loss.
func verdictOn(run *runconfig.Run, r *trainer.Result) verdict {
	if r.Interrupted {
		return verdict{}
	}
	loss, vocab := lossOf(r), run.Spec().Vocab
	return verdict{trainer.Diverged(loss, vocab), trainer.Collapsed(loss, float64(r.Last.GradNorm), vocab)}
}

// oddities says in a few words what was odd about the loss, "" if nothing was.
func oddities(r *trainer.Result) (text string) {
	switch {
	case r.Spikes == 1:
		text = fmt.Sprintf(", with a spike of the loss at step %d", r.LastSpike)
	case r.Spikes > 1:
		text = fmt.Sprintf(", with %d spikes of the loss, the last at step %d", r.Spikes, r.LastSpike)
	}
	if r.Collapsed {
		text += "; at the end nothing was learned: the loss was no better than that of guessing"
	}
	return text
}

func lossOf(r *trainer.Result) float64 {
	if r.Final != nil {
		return r.Final.Loss
	}
	return float64(r.Last.Loss)
}

// err returns the command's error, with what to do; nil if the model is worth something.
func (v verdict) err(run *runconfig.Run, r *trainer.Result) error {
	vocab, what := run.Spec().Vocab, ""
	switch {
	case v.diverged:
		what = "diverged: the loss at the end is %.4g, that of guessing %.4g"
	case v.collapsed:
		what = "collapsed: the loss at the end is %.4g, that of guessing %.4g, and the gradient is 0: nothing is learned any more"
	default:
		return nil
	}
	what += "; train again with a lower rate (%s -out %s-2) or a longer train.warmup"
	text := fmt.Sprintf(what, lossOf(r), trainer.UniformLoss(vocab), lowerRates(run), run.Out)
	if dir, loss, err := checkpoint.Best(run.Out); err == nil && trainer.Learned(loss, vocab) {
		text += fmt.Sprintf(", or from the best checkpoint, of validation loss %.4f (add -set train.init_from=%s)", loss, dir)
	}
	return errors.New(text)
}

// lowerRates returns the flags that set a run's learning rates to a third.
func lowerRates(run *runconfig.Run) string {
	t := run.Train
	text := fmt.Sprintf("-set train.lr=%.2g", t.LR/3)
	if t.MinLR > 0.3*t.LR { // otherwise it would not be below the rate
		text += fmt.Sprintf(" -set train.min_lr=%.2g", t.LR/30)
	}
	if muon, ok := t.Optim.(runconfig.Muon); ok {
		text += fmt.Sprintf(" -set train.optim.lr=%.2g", muon.LR/3)
	}
	return text
}
