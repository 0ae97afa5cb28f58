package trainer

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/runconfig"
)

// extraStopped is the state's key for how train.stop has ended the run.
const extraStopped = "stopped"

// stopped says that train.stop has ended a run before its last step.
type stopped struct {
	Key  string `json:"key"`  // the key whose limit was reached, such as train.stop.tokens
	Step int    `json:"step"` // the last step
}

// limits are the keys of train.stop.
var limits = [...]string{"train.stop.tokens", "train.stop.flops", "train.stop.time", "train.stop.loss"}

// checkStop ends the run after the current step if it has reached a limit of train.stop. A resumed
// run asks anew, so that it goes on if the limit was raised. In a group all ranks call it, and do
// what rank 0 finds.
func (t *Trainer) checkStop() error {
	limit, err := t.reached(), error(nil)
	if t.group != nil && t.run.Train.Stop != (runconfig.Stop{}) {
		limit, err = t.tell("limits of train.stop", limit)
	}
	t.stopAt(limit)
	return err
}

// stopAt notes which of the limits has ended the run, if one has.
func (t *Trainer) stopAt(limit int) {
	t.stopped = nil
	if limit >= 0 && limit < len(limits) {
		t.stopped = &stopped{limits[limit], t.step()}
	}
}

// reached returns the index of the first limit that the newest step has reached, -1 if none.
func (t *Trainer) reached() int {
	stop, m := t.run.Train.Stop, t.last
	if t.step() == 0 || m.Step != t.step() {
		return -1
	}
	for i, reached := range [len(limits)]bool{
		stop.Tokens > 0 && m.Tokens >= stop.Tokens,
		stop.FLOPs > 0 && float64(m.Tokens)*t.flops >= stop.FLOPs,
		stop.Time != "" && m.Seconds >= stop.Limit().Seconds(),
		stop.Loss > 0 && t.score != nil && t.score.Loss <= stop.Loss,
	} {
		if reached {
			return i
		}
	}
	return -1
}

// ended tells whether the run has made its last step.
func (t *Trainer) ended() bool { return t.stopped != nil || t.step() >= t.run.TotalSteps() }

// checkStopLoss returns an error if train.stop.loss is set for a run without validation.
func (t *Trainer) checkStopLoss() error {
	if t.run.Train.Stop.Loss > 0 && (!t.scores || t.run.Train.EvalEvery == 0) {
		return errors.New("train.stop.loss: want validation text and train.eval_every >= 1, because the validation loss is compared with it")
	}
	return nil
}
