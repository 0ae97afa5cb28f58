package trainer

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/mixing"
)

// mixingLog measures how far the stream's coefficients have moved from their start, on one row of
// the validation split, or of the training split if there is no other.
type mixingLog struct {
	every int
	ids   []int32
	start *mixing.Coefficients
}

// openMixing measures the coefficients at the start, if the config asks for it.
func (t *Trainer) openMixing(context.Context) error {
	every := t.run.Train.LogMixing
	if every == 0 {
		return nil
	}
	if t.store.OnDevice() {
		return errors.New("train.log_mixing: want 0 on a GPU, where activations are not read back")
	}
	tokens := t.corpus.Val.Tokens
	if tokens.Len() < t.run.Model.Seq {
		tokens = t.corpus.Train.Tokens
	}
	l := &mixingLog{every: every}
	l.ids = tokens.Slice(0, min(t.run.Model.Seq, tokens.Len())).IDs()
	var err error
	l.start, err = mixing.Start(t.run.Spec(), t.run.Seed, l.ids)
	t.mixing = l
	return errors.Wrap(err, "train.log_mixing")
}

// measureMixing returns what to log at a step, nil if the step does not log it.
func (t *Trainer) measureMixing(step int) ([]mixing.Brief, error) {
	l := t.mixing
	if l == nil || step%l.every != 0 && step != t.run.TotalSteps() {
		return nil, nil
	}
	now, err := mixing.Run(t.store, t.run.Spec(), l.ids)
	if err != nil {
		return nil, errors.Wrap(err, "train.log_mixing")
	}
	return now.Since(l.start).Brief(), nil
}
