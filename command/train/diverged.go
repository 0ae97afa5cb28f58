package train

import (
	"fmt"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/trainer"
)

// diverged tells whether a run ended with weights that are worth nothing.
func diverged(run *config.Run, r *trainer.Result) bool {
	return r.Final != nil && trainer.Diverged(r.Final.Loss, run.Spec().Vocab)
}

// divergence is the last line of a run that diverged, and how to go on; "" if it did not.
func divergence(run *config.Run, r *trainer.Result) string {
	if !diverged(run, r) {
		return ""
	}
	vocab, lower := run.Spec().Vocab, fmt.Sprintf("-set train.lr=%.2g -out %s-2", run.Train.LR/3, run.Out)
	text := fmt.Sprintf("diverged: the validation loss is %.4g, that of guessing %.4g; train again with a lower rate (%s) or a longer train.warmup",
		r.Final.Loss, trainer.UniformLoss(vocab), lower)
	if dir, loss, err := checkpoint.Best(run.Out); err == nil && !trainer.Diverged(loss, vocab) {
		text += fmt.Sprintf(", or from the best checkpoint, of validation loss %.4f (add -set train.init_from=%s)", loss, dir)
	}
	return text + "\n"
}
