package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/trainer"
)

// outcomeFile tells, in a run's folder, that the run is complete and what it came to.
const outcomeFile = "outcome.json"

// outcome is what a run came to.
type outcome struct {
	Rate     float64 `json:"lr"`
	Tokens   int64   `json:"tokens"`        // trained on
	Loss     number  `json:"val_loss"`      // at the end, nats a token; null: diverged
	Bits     number  `json:"bits_per_byte"` // of the validation text
	TokensPS float64 `json:"tokens_per_s"`  // median over steps
	Memory   int     `json:"planned_bytes"` // peak as planned: activations, buffers, weights, gradients, moments; 0: not known
	Folder   string  `json:"folder"`
	Diverged bool    `json:"diverged"`
	Remark   string  `json:"remark,omitempty"` // what else to know about it

	curve []trainer.Metrics
}

// finish trains a run to its end, or reads how it ended.
func finish(ctx context.Context, run *config.Run, out cli.Output) (*outcome, error) {
	done, err := readOutcome(run)
	if err != nil {
		return nil, err
	}
	if done != nil {
		out.Note(run.Out + " is complete")
		return done, nil
	}
	done, err = train(ctx, run, out)
	if err != nil {
		return nil, err
	}
	err = checkpoint.WriteFileAtomic(filepath.Join(run.Out, outcomeFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(done) })
	return done, err
}

// readOutcome returns a complete run's outcome, nil where there is none. A folder of
// another run is refused.
func readOutcome(run *config.Run) (*outcome, error) {
	file := filepath.Join(run.Out, "config.yaml")
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil, nil
	}
	found, _, err := config.Load(run.Zoo(), file, nil)
	if err != nil {
		return nil, cli.Usage(err)
	}
	changes, err := config.Changes(found, run)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		return nil, cli.Usagef("-out: %s holds a run of another config (%s): remove it, or choose another folder", run.Out, strings.Join(changes, ", "))
	}
	text, err := os.ReadFile(filepath.Join(run.Out, outcomeFile))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.WithStack(err)
	}
	done := new(outcome)
	if err := json.Unmarshal(text, done); err != nil {
		return nil, errors.Wrapf(err, "%s: remove it to train again", filepath.Join(run.Out, outcomeFile))
	}
	done.Folder, done.Diverged = run.Out, !done.Loss.finite()
	done.curve, err = trainer.ReadMetrics(run.Out)
	return done, err
}

// train trains a run from where it stands.
func train(ctx context.Context, run *config.Run, out cli.Output) (*outcome, error) {
	report := trainer.NewLines(out.Stderr, run.Train.LogEvery)
	t, err := trainer.Open(ctx, run, trainer.Options{Resume: trainer.ResumeAuto, Report: report})
	if err != nil {
		return nil, cli.Usage(err)
	}
	defer t.Close()
	out.Note(fmt.Sprintf("%s: %d steps at %g", run.Name, run.TotalSteps(), run.Train.LR))
	result, failed := t.Run(ctx)
	steps, err := trainer.ReadMetrics(run.Out)
	if err != nil {
		return nil, err
	}
	memory := t.Memory()
	done := &outcome{Rate: run.Train.LR, Loss: number(math.NaN()), Bits: number(math.NaN()), Memory: memory.Arena + memory.Parameters, Folder: run.Out, curve: steps}
	if failed != nil && !diverged(steps, run.Train.MaxBadSteps) {
		return nil, failed
	}
	if failed == nil && result.Interrupted {
		return nil, errors.WithStack(context.Cause(ctx))
	}
	done.measure(steps)
	done.Diverged = !done.Loss.finite()
	return done, nil
}

// diverged tells whether a run's last steps were all not finite, for which it gave up.
func diverged(steps []trainer.Metrics, most int) bool {
	if len(steps) < most {
		return false
	}
	return !slices.ContainsFunc(steps[len(steps)-most:], func(m trainer.Metrics) bool { return !m.Skipped })
}

// measure takes what metrics tell.
func (o *outcome) measure(steps []trainer.Metrics) {
	var speeds []float64
	for _, m := range steps {
		speeds = append(speeds, m.TokensPS)
	}
	if len(steps) == 0 {
		return
	}
	slices.Sort(speeds)
	last := steps[len(steps)-1]
	o.Tokens, o.TokensPS = last.Tokens, speeds[len(speeds)/2]
	if last.ValLoss != nil {
		o.Loss, o.Bits = number(*last.ValLoss), number(*last.ValBits)
	}
}
