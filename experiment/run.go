package experiment

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/trainer"
)

// complete makes a run, and returns its line of the log.
func (r *Planned) complete(ctx context.Context, corpus *data.Corpus) (Record, error) {
	cost := r.Run.Spec().Cost()
	record := Record{Run: r.Name, Series: r.cell.series, Point: r.cell.point.label, Seed: r.Seed, Settings: r.Settings, Config: r.identity,
		Corpus: fingerprint(corpus), Rate: r.Run.Train.LR, Parameters: cost.Parameters, Tables: cost.Embedding, FLOPs: cost.TrainFLOPs(), StreamSize: cost.StreamSize,
		Loss: trainer.Number(math.NaN()), Bits: trainer.Number(math.NaN())}
	if m, ok := r.cell.plan.Config.Kind.(measurer); ok {
		return record, m.measure(ctx, r.Run, corpus, &record)
	}
	return record, r.train(ctx, corpus, &record)
}

// fingerprint is the beginning of a corpus'.
func fingerprint(c *data.Corpus) string { return c.Fingerprint[:16] }

// train trains a run in its folder, from its newest checkpoint if there is one, to its end. One that diverges is no error.
func (r *Planned) train(ctx context.Context, corpus *data.Corpus, record *Record) error {
	if err := refuseOther(r.Run); err != nil {
		return err
	}
	t, err := trainer.Open(ctx, r.Run, trainer.Options{Resume: trainer.ResumeAuto, Corpus: corpus})
	if err != nil {
		return Setup(err)
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

// refuseOther refuses a run's folder that holds a run of another config.
func refuseOther(run *config.Run) error {
	file := filepath.Join(run.Out, "config.yaml")
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil
	}
	found, _, err := config.Load(run.Zoo(), file, nil)
	if err != nil {
		return Setup(err)
	}
	changes, err := config.Changes(found, run)
	if len(changes) > 0 {
		return Setupf("%s: want this run's folder, got one that holds a run of another config (%s): remove it, or choose another folder", run.Out, strings.Join(changes, ", "))
	}
	return err
}

// curveParts is how many means of the training loss a record has.
const curveParts = 40

// add enters what a run's steps tell; a run that did not come to its last evaluation has no loss.
func (r *Record) add(steps []trainer.Metrics, stepTokens int) {
	sum, part := 0.0, 0
	for i, m := range steps {
		r.Tokens = m.Tokens
		r.Seconds += float64(stepTokens) / m.TokensPS
		r.Loss, r.Bits = trainer.Number(math.NaN()), trainer.Number(math.NaN())
		if m.ValLoss != nil {
			r.Loss, r.Bits = *m.ValLoss, *m.ValBits
			r.Evaluations = append(r.Evaluations, Evaluation{m.Tokens, r.Seconds, *m.ValLoss})
		}
		sum, part = sum+float64(m.Loss), part+1
		if (i+1)*curveParts/len(steps) > i*curveParts/len(steps) {
			r.Curve = append(r.Curve, trainer.Number(math.Round(1e4*sum/float64(part))/1e4))
			sum, part = 0, 0
		}
	}
	if len(r.Evaluations) == 1 {
		r.Evaluations = nil
	}
}
