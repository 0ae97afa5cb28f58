package trainer

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis/mixing"
)

// mixingLog measures how far the stream's coefficients have moved from their start, on a row of
// text.
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
	l := &mixingLog{every: every, ids: t.probe()}
	var err error
	l.start, err = mixing.Start(t.run.Spec(), t.run.Seed, l.ids)
	t.mixing = l
	return errors.Wrap(err, "train.log_mixing")
}

// probe returns the row of text on which the run measures activations: the first of the validation
// split, or of the training split if there is no other.
func (t *Trainer) probe() []int32 {
	tokens := t.corpus.Val.Tokens
	if tokens.Len() < t.run.Model.Seq {
		tokens = t.corpus.Train.Tokens
	}
	return tokens.Slice(0, min(t.run.Model.Seq, tokens.Len())).IDs()
}

// measureMixing returns what to log at a step, nil if the step does not log it.
func (t *Trainer) measureMixing(step int) ([]mixing.Brief, error) {
	l := t.mixing
	if l == nil || !t.logs(l.every, step) {
		return nil, nil
	}
	store, err := t.store.Merged()
	if err != nil {
		return nil, err
	}
	now, err := mixing.Run(store, t.run.Spec(), l.ids)
	if err != nil {
		return nil, errors.Wrap(err, "train.log_mixing")
	}
	return now.Since(l.start).Brief(), nil
}
