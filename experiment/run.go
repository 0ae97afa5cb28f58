package experiment

import (
	"context"
	"math"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/build"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// complete makes a run and returns its line for the log. It calls done with the share of the run
// that is done.
func (r *Planned) complete(ctx context.Context, corpus *data.Corpus, done func(share float64)) (Record, error) {
	record := newRecord(r.Run)
	record.Run, record.Series, record.Point, record.Seed, record.Settings = r.Name, r.cell.series, r.cell.point.Label, r.Seed, r.Settings
	record.Config, record.Corpus = r.identity, fingerprint(corpus)
	record.Program, record.Path = build.Describe(), r.Run.Device.Path()
	var err error
	if m, ok := r.cell.plan.Config.Kind.(Measurer); ok {
		err = m.Measure(ctx, r.Run, corpus, &record)
	} else {
		err = r.train(ctx, corpus, &record, done)
	}
	return record, err
}

// newRecord returns a record with what follows from a run's config.
func newRecord(run *runconfig.Run) Record {
	cost, nan := run.Spec().Cost(), eval.Number(math.NaN())
	return Record{Rate: run.Train.LR, Parameters: cost.Parameters, Tables: cost.Embedding, FLOPs: cost.TrainFLOPs(), StreamSize: cost.StreamSize, Loss: nan,
		Bits: nan}
}

// fingerprint returns the beginning of a corpus' fingerprint.
func fingerprint(c *data.Corpus) string { return c.Fingerprint[:16] }

// train trains a run in its folder to its end, starting from its newest checkpoint if there is one.
// Divergence is not an error.
func (r *Planned) train(ctx context.Context, corpus *data.Corpus, record *Record, done func(share float64)) error {
	changes, err := trainer.Changes(r.Run)
	if err != nil {
		return setupError(err)
	}
	if len(changes) > 0 {
		return setupErrorf("%s: want this run's folder, got one that holds a run of another config (%s): remove it, or choose another folder", r.Run.Out,
			strings.Join(changes, ", "))
	}
	t, err := trainer.Open(ctx, r.Run, trainer.Options{Resume: trainer.ResumeAuto, Corpus: corpus, Report: &steps{done: done}})
	if err != nil {
		return setupError(err)
	}
	defer t.Close()
	ended, err := t.Run(ctx)
	if err == nil && ended.Interrupted || errors.Is(err, context.Canceled) {
		return errors.WithStack(context.Cause(ctx))
	}
	if gaveUp := (*trainer.DivergedError)(nil); err != nil && !errors.As(err, &gaveUp) {
		return err
	}
	steps, err := trainer.ReadMetrics(r.Run.Out)
	memory := t.Memory()
	record.Memory = memory.Arena + memory.Parameters
	record.add(steps, r.Run.StepTokens())
	return err
}

// curveParts is how many means of the training loss a record holds.
const curveParts = 40

// add adds the results of a run's steps; a run that did not reach its last evaluation has no loss.
func (r *Record) add(steps []trainer.Metrics, stepTokens int) {
	sum, part := 0.0, 0
	for i, m := range steps {
		r.Tokens = m.Tokens
		if m.TokensPS > 0 { // 0: the process was stopped for so long that the rate rounds to 0
			r.Seconds += float64(stepTokens) / m.TokensPS
		}
		r.Loss, r.Bits = eval.Number(math.NaN()), eval.Number(math.NaN())
		if m.ValLoss != nil {
			r.Loss, r.Bits = *m.ValLoss, *m.ValBits
			if m.ValAccuracy != nil {
				r.Accuracy = *m.ValAccuracy
			}
			r.Evaluations = append(r.Evaluations, Evaluation{m.Tokens, r.Seconds, *m.ValLoss})
		}
		if len(m.Mixing) > 0 {
			r.Mixing = m.Mixing
		}
		sum, part = sum+float64(m.Loss), part+1
		if (i+1)*curveParts/len(steps) > i*curveParts/len(steps) {
			r.Curve = append(r.Curve, eval.Number(math.Round(1e4*sum/float64(part))/1e4))
			sum, part = 0, 0
		}
	}
	if len(r.Evaluations) == 1 {
		r.Evaluations = nil
	}
}

// curve returns the training loss over tokens, counted in multiples of unit.
func (r *Record) curve(name string, unit float64) figure.Series {
	s, part := figure.Series{Name: name}, float64(r.Tokens)/float64(len(r.Curve))
	for i, loss := range r.Curve {
		s.Add((float64(i)+0.5)*part*unit, float64(loss))
	}
	return s
}
