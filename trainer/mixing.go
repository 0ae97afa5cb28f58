package trainer

import (
	"context"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/runconfig"
)

// mixingLog measures how far the stream's coefficients have moved from their start, on a row of
// text.
type mixingLog struct {
	run   *runconfig.Run
	store *graph.Store
	ids   []int32 // nil: not logged, or by another rank
	start *mixing.Coefficients
}

// openMixing measures the coefficients at the start, if the config asks for it.
func openMixing(t *Trainer) (*mixingLog, error) {
	l := &mixingLog{run: t.run, store: t.store}
	if t.run.Train.LogMixing == 0 || !t.leads() {
		return l, nil
	}
	if t.store.OnDevice() {
		return nil, errors.New("train.log_mixing: want 0 on a GPU, where activations are not read back")
	}
	l.ids = probe(t.corpus, t.run.Model.Seq)
	var err error
	l.start, err = mixing.Start(t.run.Spec(), t.run.Seed, l.ids)
	return l, errors.Wrap(err, "train.log_mixing")
}

// probe returns the row of text on which a run measures activations: the first of the validation
// split, or of the training split if there is no other.
func probe(corpus *data.Corpus, seq int) []int32 {
	tokens := corpus.Val.Tokens
	if tokens.Len() < seq {
		tokens = corpus.Train.Tokens
	}
	return tokens.Slice(0, min(seq, tokens.Len())).IDs()
}

// Step adds to the line how far the coefficients have moved, if the step logs it.
func (l *mixingLog) Step(_ context.Context, m *Metrics) error {
	if l.ids == nil || !logs(l.run, l.run.Train.LogMixing, m.Step) {
		return nil
	}
	store, err := l.store.Merged()
	if err != nil {
		return err
	}
	now, err := mixing.Run(store, l.run.Spec(), l.ids)
	if err != nil {
		return errors.Wrap(err, "train.log_mixing")
	}
	m.Mixing = now.Since(l.start).Brief()
	return nil
}

// logs tells whether a run logs at a step: at each multiple of every, and at the last step; 0:
// never.
func logs(run *runconfig.Run, every, step int) bool {
	return every > 0 && (step%every == 0 || step == run.TotalSteps())
}
