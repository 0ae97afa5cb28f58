package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// Options say how an experiment is trained.
type Options struct {
	Jobs      int           // runs side by side; 0: 1
	Only      []string      // the series to be trained; none: all
	StopAfter time.Duration // start no run after this time; 0: never stop
	Note      func(string)  // is told of each run; nil: nobody is
}

// Train makes the runs that are not in the log yet, the most expensive first, and adds each to the log as soon as it is
// complete. One that was cut short goes on from its checkpoint. A run that diverges is complete. The first error, or the end of the context, ends
// the others, which save where they stand. How many run side by side changes no bit of a result. The folder is locked: of two
// experiments in one the second is refused.
func (p *Plan) Train(ctx context.Context, o Options) error {
	if err := p.checkOnly(o.Only); err != nil {
		return err
	}
	if err := p.disk.MakeFolder(p.out); err != nil {
		return Setup(err)
	}
	unlock, err := checkpoint.Lock(p.out)
	if err != nil {
		return Setup(err)
	}
	defer unlock()
	log, err := p.Log() // it is of this plan, and so is the base that is copied now
	if err == nil {
		err = p.keepBase()
	}
	if err != nil {
		return err
	}
	file, err := p.openLog()
	if err != nil {
		return err
	}
	defer file.Close()
	w := &work{plan: p, options: o, log: byName(log), file: file, running: map[string]bool{}, began: time.Now()}
	w.run(ctx)
	return w.failed
}

// checkOnly wants names of series.
func (p *Plan) checkOnly(only []string) error {
	var names []string
	for _, s := range p.series {
		names = append(names, s.Name)
	}
	for _, name := range only {
		if !slices.Contains(names, name) {
			return Setupf("only: want series of %s, got %q", strings.Join(names, ", "), name)
		}
	}
	return nil
}

// work is what the workers share.
type work struct {
	plan    *Plan
	options Options
	file    *checkpoint.Appender // the log's
	began   time.Time
	corpora corpora
	stop    context.CancelCauseFunc

	mu      sync.Mutex // guards what follows, and the log's file
	changed *sync.Cond // a run has ended
	log     map[string]Record
	running map[string]bool
	made    int
	failed  error
	torn    error // the log's last line may be, and none is to follow it
}

// run lets workers make runs until there are none left.
func (w *work) run(ctx context.Context) {
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	w.changed = sync.NewCond(&w.mu)
	w.options.Jobs = max(1, w.options.Jobs)
	var all sync.WaitGroup
	for range w.options.Jobs {
		all.Go(func() {
			for run := w.next(ctx); run != nil; run = w.next(ctx) {
				record, err := w.complete(ctx, run)
				w.finish(run, record, err)
			}
		})
	}
	all.Wait()
}

// next takes the most expensive of the runs that can be made, nil if there will be none.
func (w *work) next(ctx context.Context) *Planned {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		todo, err := w.todo()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		w.fail(err)
		late := w.options.StopAfter > 0 && time.Since(w.began) > w.options.StopAfter
		switch {
		case w.failed != nil, late, len(todo) == 0 && len(w.running) == 0:
			return nil
		case len(todo) > 0:
			run := slices.MaxFunc(todo, func(a, b *Planned) int { return cmp.Compare(a.flops(), b.flops()) })
			w.made++
			w.running[run.Name] = true
			w.note(fmt.Sprintf("%d/%d %s: %d steps", w.made, w.made+len(todo)-1, run.Name, run.Run.TotalSteps()))
			return run
		}
		w.changed.Wait()
	}
}

// todo are the runs that can be made and are not being made.
func (w *work) todo() ([]*Planned, error) {
	todo, err := w.plan.todo(w.log)
	return slices.DeleteFunc(todo, func(r *Planned) bool {
		return w.running[r.Name] || len(w.options.Only) > 0 && !slices.Contains(w.options.Only, r.cell.series)
	}), err
}

// complete makes a run on its text.
func (w *work) complete(ctx context.Context, run *Planned) (Record, error) {
	corpus, err := w.corpora.of(ctx, run.Run)
	if err != nil {
		return Record{}, err
	}
	w.mu.Lock()
	err = w.plan.sameText(run, fingerprint(corpus))
	w.mu.Unlock()
	if err != nil {
		return Record{}, err
	}
	return run.complete(ctx, corpus)
}

// finish adds a complete run to the log.
func (w *work) finish(run *Planned, record Record, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.changed.Broadcast()
	delete(w.running, run.Name)
	record.Jobs = w.options.Jobs
	if err == nil {
		err = w.add(record)
	}
	if err != nil {
		w.fail(err)
		return
	}
	text := fmt.Sprintf("loss %s after %.0f s of steps", record.Loss.Text("%.4f"), record.Seconds)
	if record.Activations != nil {
		text = "measured"
	}
	w.note(run.Name + ": " + text)
}

// add writes a line of the log, whole before anything follows from it.
func (w *work) add(record Record) error {
	line, err := json.Marshal(record)
	if err != nil {
		return errors.WithStack(err)
	}
	if w.torn == nil {
		_, w.torn = w.file.Write(append(line, '\n'))
	}
	if w.torn == nil {
		w.torn = w.file.Sync()
	}
	if w.torn == nil {
		w.log[record.Run] = record
	}
	return w.torn
}

// fail ends the others at the first error.
func (w *work) fail(err error) {
	if err != nil && w.failed == nil {
		w.failed = err
		w.stop(err)
	}
}

func (w *work) note(line string) {
	if w.options.Note != nil {
		w.options.Note(line)
	}
}
