// Package bench measures speed. For training it reports tokens a second, the share of the machine's
// peak and memory, and compares them with PyTorch, JAX and stock Gorgonia, with one thread, and
// between residual designs and the plain transformer. For generation it compares with Hugging
// Face's transformers and with llama.cpp.
//
// Each model is measured in a separate process, in which this program is started again: a program
// that uses this package begins with
//
//	if bench.IsChild() {
//		os.Exit(bench.RunChild(zoo, os.Stdin, os.Stdout))
//	}
package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/kernel"
)

// Options say how to measure. The zero value is 3 rounds of 5 steps on all cores, without PyTorch.
type Options struct {
	Rounds     int       // number of turns of each model; 0: 3
	Steps      int       // number of steps in a turn; 0: 5, in Designs the number set for each comparison
	Target     Target    // what models run on
	PeakTFLOPS float64   // of a GPU; 0: from its data sheet, if it is known
	PyTorch    *PyTorch  // nil: do not compare with it
	JAX        *JAX      // used by Baselines; nil: do not compare with it
	LlamaCPP   *LlamaCPP // used by Generation; nil: do not compare with it
	Log        Log       // nil: silent
	// Progress is told which share of a table's work is done, from 0 to 1. nil: nobody is told.
	Progress func(share float64)
	// Save is called with the report after each row of a table, because a later measurement may
	// fail. nil: nothing is saved.
	Save func(*Report) error
}

// Log receives messages: Note of progress, Warn of failures.
type Log interface {
	Note(message string)
	Warn(message string)
}

// Bench measures, and collects the results in a Report.
type Bench struct {
	o      Options
	report *Report
	pool   *kernel.Pool
	shares shares
	start  func(context.Context, job) (*worker, error)
}

// New makes a Bench and describes the machine. Close it after use.
func New(o Options) (*Bench, error) {
	if o.Rounds == 0 {
		o.Rounds = 3
	}
	m, err := newMachine(o.Target, o.PeakTFLOPS)
	if err != nil {
		return nil, err
	}
	o.Target.Threads = m.Threads
	return &Bench{o: o, report: &Report{Machine: m}, pool: kernel.NewPool(m.Threads), start: startChild}, nil
}

// Close ends the workers that measure the machine.
func (b *Bench) Close() { b.pool.Close() }

// Report returns what has been measured until now.
func (b *Bench) Report() *Report { return b.report }

func (b *Bench) note(format string, args ...any) {
	if b.o.Log != nil {
		b.o.Log.Note(fmt.Sprintf(format, args...))
	}
}

func (b *Bench) warn(message string) {
	if b.o.Log != nil {
		b.o.Log.Warn(message)
	}
}

// save calls Options.Save.
func (b *Bench) save() error {
	b.report.shares()
	if b.o.Save == nil {
		return nil
	}
	return b.o.Save(b.report)
}

// failed records the error of one measurement, so that the others continue. If the cause of
// the error is the end of ctx, failed returns an error instead. An interrupt from the terminal
// also ends the children, perhaps a moment before ctx.
func (b *Bench) failed(ctx context.Context, name string, err error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interruptDelay):
	}
	b.report.Failures = append(b.report.Failures, Failure{name, err.Error()})
	b.warn(err.Error())
	return b.save()
}

// interruptDelay is how long after a child's end an interrupt still counts as its cause.
const interruptDelay = 200 * time.Millisecond

// compare starts a worker for each job, lets these and the running workers take turns, and
// ends the new ones. It returns the running workers followed by the workers of the jobs; a
// worker that did not start is nil.
func (b *Bench) compare(ctx context.Context, what string, steps int, running []*worker, jobs ...job) ([]*worker, error) {
	share := b.part()
	b.note("%s: starting and warming up", what)
	started := make([]*worker, len(jobs))
	defer func() {
		for _, w := range started {
			if w != nil {
				_ = w.close()
			}
		}
	}()
	if err := b.launch(ctx, jobs, started); err != nil {
		return nil, err
	}
	workers := append(slices.Clone(running), started...)
	return workers, b.turns(ctx, what, steps, workers, share)
}

// launch starts workers and waits until they have warmed up. PyTorch's and JAX's workers start
// first and together, since each compiles for a minute on a few cores. The others warm up one
// after another: Residua may be timing different ways to compute, and llama.cpp's threads keep
// the processor busy while they wait for each other.
func (b *Bench) launch(ctx context.Context, jobs []job, started []*worker) error {
	failed := func(i int, err error) error {
		started[i] = nil
		return b.failed(ctx, jobs[i].title(), err)
	}
	start := func(i int) (err error) {
		if started[i], err = b.start(ctx, jobs[i]); err != nil {
			return failed(i, err)
		}
		return nil
	}
	for i, j := range jobs {
		if !j.compiled() {
			continue
		}
		if err := start(i); err != nil {
			return err
		}
	}
	for i, j := range jobs {
		if !j.compiled() {
			if err := start(i); err != nil {
				return err
			}
		}
		if w := started[i]; w != nil {
			if err := w.open(); err != nil {
				if err := failed(i, err); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Models measures each model, by turns with the others of its size. It fills Report.Models and
// Sizes.
func (b *Bench) Models(ctx context.Context, chosen []Workload) error {
	all := groups(chosen)
	parts := make([]float64, len(all))
	for i, group := range all {
		for _, w := range group {
			parts[i] += w.stepFLOPs()
		}
	}
	b.begin(parts)
	for _, group := range all {
		var jobs []job
		var names []string
		for _, w := range group {
			jobs = append(jobs, b.job(residua, w))
			names = append(names, w.Name)
		}
		workers, err := b.compare(ctx, strings.Join(names, " and "), b.steps(), nil, jobs...)
		if err != nil {
			return err
		}
		for i, worker := range workers {
			if worker.ok() {
				b.keepModel(chosen, group[i], worker)
			}
		}
		if err := b.save(); err != nil {
			return err
		}
	}
	return nil
}

// keepModel adds a model's row, and compares sizes again.
func (b *Bench) keepModel(chosen []Workload, w Workload, own *worker) {
	b.report.Models = append(b.report.Models, newModelResult(w, own))
	b.report.Sizes = compareSizes(chosen, b.report.Models)
}

// groups collects the models that are compared with the same transformer into one group each,
// in the order in which they are named.
func groups(chosen []Workload) [][]Workload {
	var all [][]Workload
	at := map[string]int{}
	for _, w := range chosen {
		i, known := at[w.plain()]
		if !known {
			i, all = len(all), append(all, nil)
			at[w.plain()] = i
		}
		all[i] = append(all[i], w)
	}
	return all
}

// Baselines compares each model with PyTorch, in the modes of Options.PyTorch, and with JAX.
// It fills Report.PyTorch and, from Residua's own turns, Models and Sizes.
func (b *Bench) Baselines(ctx context.Context, chosen []Workload) error {
	var modes []string
	if b.o.PyTorch != nil {
		modes = slices.Clone(b.o.PyTorch.modes())
	}
	if b.o.JAX != nil {
		modes = append(modes, jaxOnXLA)
	}
	b.beginModels(chosen, Workload.stepFLOPs)
	return b.against(ctx, chosen, " compared with other frameworks", func(w Workload) []job {
		jobs := []job{b.job(residua, w)}
		for _, mode := range modes {
			jobs = append(jobs, b.job(mode, w))
		}
		return jobs
	}, func(w Workload, own *worker, others []*worker) {
		b.keepModel(chosen, w, own)
		b.report.PyTorch = append(b.report.PyTorch, newPyTorchResult(w, own, modes, others))
	})
}

// Threads compares one thread with all threads. It fills Report.Threads.
func (b *Bench) Threads(ctx context.Context, chosen []Workload) error {
	b.beginModels(chosen, Workload.stepFLOPs)
	return b.against(ctx, chosen, " by threads", func(w Workload) []job {
		single := b.job(residua, w)
		single.Target = Target{Threads: 1}
		return []job{single, b.job(residua, w)}
	}, func(w Workload, one *worker, all []*worker) {
		if all[0].ok() {
			b.report.Threads = append(b.report.Threads, newThreadsResult(w, b.o.Target.Threads, one, all[0]))
		}
	})
}

// Stock compares transformers with the same models built from stock Gorgonia nodes. It fills
// Report.Stock.
func (b *Bench) Stock(ctx context.Context, chosen []Workload) error {
	b.beginModels(chosen, Workload.stepFLOPs)
	return b.against(ctx, chosen, " compared with stock Gorgonia", func(w Workload) []job {
		return []job{b.job(residua, w), b.job(stock, w)}
	}, func(w Workload, own *worker, others []*worker) {
		if others[0].ok() {
			b.report.Stock = append(b.report.Stock, newStockResult(w, own, others[0]))
		}
	})
}

// against compares the first of each workload's jobs with the others, which run the same model in
// other ways, and keeps the results unless the first job failed.
func (b *Bench) against(ctx context.Context, chosen []Workload, what string, jobs func(Workload) []job,
	keep func(w Workload, first *worker, others []*worker)) error {
	for _, w := range chosen {
		workers, err := b.compare(ctx, w.Name+what, b.steps(), nil, jobs(w)...)
		if err != nil {
			return err
		}
		for _, other := range workers[1:] {
			if err := sameParameters(workers[0], other); err != nil {
				other.failed = true
				if err := b.failed(ctx, other.name, err); err != nil {
					return err
				}
			}
		}
		if workers[0].ok() {
			keep(w, workers[0], workers[1:])
		}
		if err := b.save(); err != nil {
			return err
		}
	}
	return nil
}

// steps returns the number of steps in a turn.
func (b *Bench) steps() int { return cmp.Or(b.o.Steps, 5) }

// Err returns nil if no measurement has failed.
func (r *Report) Err() error {
	switch len(r.Failures) {
	case 0:
		return nil
	case 1:
		return errors.New(r.Failures[0].Error)
	}
	return errors.Errorf("%d measurements failed, first: %s", len(r.Failures), r.Failures[0].Error)
}
