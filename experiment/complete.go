package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/trainer"
)

// resultFile tells, in a run's folder, that the run is complete and what its result is.
const resultFile = "outcome.json"

// Log is told how trainings go on; zero: nobody is.
type Log struct {
	Note  func(string) // a line at the beginning of each run
	Steps io.Writer    // lines about training steps
}

func (l Log) note(line string) {
	if l.Note != nil {
		l.Note(line)
	}
}

// IsComplete tells whether a run is complete in its folder.
func IsComplete(run *config.Run) (bool, error) {
	r, err := readResult(run)
	return r != nil, err
}

// Complete trains a run to its end, or reads its result if it is complete in its folder. One that was cut short goes on from
// its checkpoint; one that diverges is no error.
func Complete(ctx context.Context, run *config.Run, log Log) (*Result, error) {
	return complete(ctx, run, log, nil)
}

// complete is Complete on a corpus that others share; nil: the run loads its own.
func complete(ctx context.Context, run *config.Run, log Log, corpus corpusOf) (*Result, error) {
	r, err := readResult(run)
	if err != nil {
		return nil, err
	}
	if r != nil {
		log.note(run.Out + " is complete")
		return r, nil
	}
	if r, err = train(ctx, run, log, corpus); err != nil {
		return nil, err
	}
	return r, checkpoint.WriteFileAtomic(filepath.Join(run.Out, resultFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(r) })
}

// readResult returns a complete run's result, nil where there is none. A folder of another run is
// refused.
func readResult(run *config.Run) (*Result, error) {
	file := filepath.Join(run.Out, "config.yaml")
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil, nil
	}
	found, _, err := config.Load(run.Zoo(), file, nil)
	if err != nil {
		return nil, Setup(err)
	}
	changes, err := config.Changes(found, run)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		return nil, Setupf("%s: want this run's folder, got one that holds a run of another config (%s): remove it, or choose another folder", run.Out, strings.Join(changes, ", "))
	}
	r := new(Result)
	if found, err := r.readFile(run.Out); !found || err != nil {
		return nil, err
	}
	r.Folder, r.Diverged = run.Out, !r.Loss.Finite()
	r.Steps, err = trainer.ReadMetrics(run.Out)
	return r, err
}

// readFile reads the file in a run's folder that tells its result.
func (r *Result) readFile(folder string) (found bool, err error) {
	text, err := os.ReadFile(filepath.Join(folder, resultFile))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, errors.WithStack(err)
	}
	return true, errors.Wrapf(json.Unmarshal(text, r), "%s: remove it to train again", filepath.Join(folder, resultFile))
}

// train trains a run from where it stands.
func train(ctx context.Context, run *config.Run, log Log, corpus corpusOf) (*Result, error) {
	o := trainer.Options{Resume: trainer.ResumeAuto}
	if corpus != nil {
		text, err := corpus(ctx, run)
		if err != nil {
			return nil, Setup(err)
		}
		o.Corpus = text
	}
	if log.Steps != nil {
		o.Report = trainer.NewLines(log.Steps, run.Train.LogEvery)
	}
	t, err := trainer.Open(ctx, run, o)
	if err != nil {
		return nil, Setup(err)
	}
	defer t.Close()
	log.note(fmt.Sprintf("%s: %d steps at %g", run.Name, run.TotalSteps(), run.Train.LR))
	ended, failed := t.Run(ctx)
	steps, err := trainer.ReadMetrics(run.Out)
	if err != nil {
		return nil, err
	}
	if gaveUp := (*trainer.DivergedError)(nil); failed != nil && !errors.As(failed, &gaveUp) {
		return nil, failed
	}
	if failed == nil && ended.Interrupted {
		return nil, errors.WithStack(context.Cause(ctx))
	}
	r, memory := newResult(run, run.Out, steps), t.Memory()
	r.Memory, r.Diverged = memory.Arena+memory.Parameters, !r.Loss.Finite()
	return r, nil
}
