package trainer

import (
	"context"
	"io"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// Recorder records something of every run beside its training. models.Zoo.WithKinds adds one of
// another module.
type Recorder interface {
	Name() string
	// Open begins to record a run from its present step on; in a group, on rank 0 alone. Several
	// runs may be recorded at the same time.
	Open(t *Trainer) (Recording, error)
}

// Recording is a Recorder's work on one run. If it is an io.Closer, Trainer.Close closes it.
type Recording interface {
	// Step takes the newest step, once it is in metrics.jsonl and, where that is due, saved and
	// validated. A run that goes on from a checkpoint begins with the checkpoint's step. If ctx
	// ends, Step may return ctx's error.
	Step(ctx context.Context, m *Metrics) error
}

// recordings are what records a run.
type recordings []Recording

// step calls all of them, even if one fails, and returns the first error.
func (all recordings) step(ctx context.Context, m *Metrics) (first error) {
	for _, r := range all {
		if err := r.Step(ctx, m); first == nil {
			first = err
		}
	}
	return first
}

func (all recordings) close() {
	for _, r := range all {
		if c, ok := r.(io.Closer); ok {
			_ = c.Close()
		}
	}
}

// openMeasures opens what adds to the metrics of some steps, before these are saved.
func (t *Trainer) openMeasures(context.Context) error {
	mixing, err := openMixing(t)
	if err != nil {
		return err
	}
	norms, err := openNorms(t)
	t.measures = recordings{mixing, norms}
	return err
}

// openRecordings opens metrics.jsonl and whatever else records the run.
func (t *Trainer) openRecordings() error {
	samples, err := openSamples(t)
	if err != nil {
		return err
	}
	if err := t.openMetrics(); err != nil {
		return err
	}
	events, err := openEvents(t, samples)
	if err != nil {
		return err
	}
	t.recordings = recordings{samples, events}
	for _, r := range models.KindsOf[Recorder](t.run.Zoo()) {
		recording, err := r.Open(t)
		if err != nil {
			return errors.Wrap(err, r.Name())
		}
		t.recordings = append(t.recordings, recording)
	}
	return nil
}
