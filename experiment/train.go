package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// Options say how to train an experiment.
type Options struct {
	Jobs      int           // runs to train at the same time; 0: 1
	Only      []string      // the series to train; none: all
	StopAfter time.Duration // start no run after this time; 0: never stop
	Note      func(string)  // called with news of each run; nil: not called
	// Progress is called with the share of the work, by FLOPs, that is done: after each step of a
	// run, by one goroutine at a time; nil: not called.
	Progress func(share float64)
}

// Train makes the runs that are not in the log yet, the most expensive first, and adds each to the
// log as soon as it is complete. A run that was interrupted goes on from its checkpoint. A run that
// diverges is complete. The first error, or the end of the context, stops the other runs, which
// save their state. The number of runs at a time changes no bit of a result. The folder is locked,
// so that a second experiment cannot run in it.
func (p *Plan) Train(ctx context.Context, o Options) error {
	if err := p.checkOnly(o.Only); err != nil {
		return err
	}
	if err := p.disk.MakeFolder(p.out); err != nil {
		return setupError(err)
	}
	unlock, err := checkpoint.Lock(p.out)
	if err != nil {
		return setupError(err)
	}
	defer unlock()
	file, err := p.openLog()
	if err != nil {
		return err
	}
	defer file.Close()
	if err := p.keepBase(); err != nil { // from now on the log belongs to this plan, and so must the base
		return err
	}
	o.Jobs = max(1, o.Jobs)
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Progress == nil {
		o.Progress = func(float64) {}
	}
	w := &work{plan: p, Options: o, file: file, running: map[string]bool{}, done: make(chan outcome), corpora: corpora{}, began: time.Now()}
	return w.run(ctx)
}

// checkOnly returns an error unless all names are series of the experiment.
func (p *Plan) checkOnly(only []string) error {
	var names []string
	for _, s := range p.series {
		names = append(names, s.Name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return setupErrorf("only: want series of %s, got %q", strings.Join(names, ", "), name)
		}
	}
	return nil
}

// work is an experiment in progress.
type work struct {
	Options
	plan    *Plan
	file    *checkpoint.Appender // the log's file
	running map[string]bool
	started int
	done    chan outcome
	corpora corpora
	began   time.Time
	shares  shares
}

// outcome says how a run has ended.
type outcome struct {
	run    *Planned
	record Record
	err    error
}

// run starts runs, each on a goroutine of its own, as others end. It returns the first error when
// all have ended.
func (w *work) run(ctx context.Context) (failed error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for {
		for failed == nil && len(w.running) < w.Jobs {
			var more bool
			if more, failed = w.start(ctx); !more {
				break
			}
		}
		if failed != nil {
			stop()
		}
		if len(w.running) == 0 {
			return failed
		}
		o := <-w.done
		delete(w.running, o.run.Name)
		if o.err == nil {
			o.err = w.add(o.record)
		}
		if failed == nil {
			failed = o.err
		}
	}
}

// start starts the most expensive of the runs that can be made; more is false if there is none for
// now.
func (w *work) start(ctx context.Context) (more bool, err error) {
	todo, err := w.plan.todo()
	todo = slices.DeleteFunc(todo, func(r *Planned) bool {
		return w.running[r.Name] || len(w.Only) > 0 && !slices.Contains(w.Only, r.cell.series)
	})
	switch {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil, len(todo) == 0, w.StopAfter > 0 && time.Since(w.began) > w.StopAfter:
		return false, err
	}
	if w.started == 0 {
		w.shares.begin(todo)
	}
	run := slices.MaxFunc(todo, func(a, b *Planned) int { return cmp.Compare(a.flops(), b.flops()) })
	corpus, err := w.corpora.of(ctx, run.Run)
	if err == nil {
		err = w.plan.sameText(run, fingerprint(corpus))
	}
	if err != nil {
		return false, err
	}
	w.started++
	w.running[run.Name] = true
	w.Note(fmt.Sprintf("%d/%d %s begins: %d steps", w.started, w.started+len(todo)-1, run.Name, run.Run.TotalSteps()))
	go func() {
		record, err := run.complete(ctx, corpus, func(share float64) { w.shares.set(run, share, w.Progress) })
		if err == nil {
			w.shares.set(run, 1, w.Progress)
		}
		w.done <- outcome{run, record, err}
	}()
	return true, nil
}

// add adds a line to the log and flushes it to disk before anything depends on it. After a failed
// write it adds no more lines.
func (w *work) add(r Record) error {
	if w.file == nil {
		return nil
	}
	r.Jobs = w.Jobs
	err := json.NewEncoder(w.file).Encode(r)
	if err == nil {
		err = w.file.Keep(w.Note)
	}
	if err != nil {
		w.file = nil
		return errors.WithStack(err)
	}
	w.plan.log[r.Run] = r
	text := fmt.Sprintf("loss %s after %.0f s of steps", r.Loss.Text("%.4f"), r.Seconds)
	if r.Activations != nil {
		text = "measured"
	}
	w.Note(r.Run + ": " + text)
	return nil
}
