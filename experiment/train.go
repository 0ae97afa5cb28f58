package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/residua-go/residua/checkpoint"
)

// Options say how an experiment is trained.
type Options struct {
	Jobs      int           // runs side by side; 0: 1
	StopAfter time.Duration // start no run after this time; 0: never stop
	Note      func(string)  // is told of each run; nil: nobody is
}

// Train makes the runs that are not in the log yet, the most expensive first, and writes each into the log as soon as it is
// complete. One that was cut short goes on from its checkpoint. A run that diverges is complete. The first error, or the end of the context, ends
// the others, which save where they stand. How many run side by side changes no bit of a result. The folder is locked: of two
// experiments in one the second is refused.
func (p *Plan) Train(ctx context.Context, o Options) ([]Record, error) {
	unlock, err := p.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	log, err := ReadLog(p.out)
	if err != nil {
		return nil, err
	}
	todo, err := p.todo(log)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(todo, func(a, b Planned) int { return cmp.Compare(b.flops(), a.flops()) })
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	w := &work{plan: p, options: o, log: log, queue: todo, total: len(todo), began: time.Now(), stop: stop}
	w.options.Jobs = max(1, o.Jobs)
	var all sync.WaitGroup
	for range min(w.options.Jobs, len(todo)) {
		all.Go(func() { w.worker(ctx) })
	}
	all.Wait()
	return w.log, w.failed
}

// lock makes the experiment's folder and takes it for this process.
func (p *Plan) lock() (unlock func() error, err error) {
	if err := (checkpoint.Disk{}).MakeFolder(p.out); err != nil {
		return nil, Setup(err)
	}
	unlock, err = checkpoint.Lock(p.out)
	return unlock, Setup(err)
}

// todo are the runs that are not in a log.
func (p *Plan) todo(log []Record) ([]Planned, error) {
	var todo []Planned
	for _, run := range p.Runs {
		found, err := run.find(log)
		if err != nil {
			return nil, err
		}
		if found == nil {
			todo = append(todo, run)
		}
	}
	return todo, nil
}

// flops are those of a run.
func (p Planned) flops() float64 {
	return float64(p.Run.Spec().Cost().TrainFLOPs()) * float64(p.Run.TotalSteps()) * float64(p.Run.StepTokens())
}

// work is what the workers share.
type work struct {
	plan    *Plan
	options Options
	total   int
	began   time.Time
	stop    context.CancelCauseFunc
	corpora corpora

	mu      sync.Mutex // guards what follows, and the log's file
	queue   []Planned
	started int
	log     []Record
	failed  error
}

// worker makes runs until there are none left, or one has failed.
func (w *work) worker(ctx context.Context) {
	for {
		run, ok := w.next(ctx)
		if !ok {
			return
		}
		result, err := complete(ctx, run.Run, Log{}, w.corpora.of)
		if err := w.finish(run, result, err); err != nil {
			w.stop(err)
			return
		}
	}
}

// next takes a run from the queue.
func (w *work) next(ctx context.Context) (run Planned, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	late := w.options.StopAfter > 0 && time.Since(w.began) > w.options.StopAfter
	if ctx.Err() != nil && w.failed == nil {
		w.failed = context.Cause(ctx)
	}
	if len(w.queue) == 0 || late || w.failed != nil {
		return run, false
	}
	run, w.queue = w.queue[0], w.queue[1:]
	w.started++
	w.note(fmt.Sprintf("%d/%d %s: %d steps", w.started, w.total, run.Name, run.Run.TotalSteps()))
	return run, true
}

// finish writes a complete run into the log.
func (w *work) finish(run Planned, result *Result, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var record Record
	if err == nil {
		record = run.record(result, w.options.Jobs)
		w.log = append(w.log, record)
		err = writeLog(w.plan.out, w.inOrder())
	}
	if err == nil {
		w.note(fmt.Sprintf("%s: loss %s after %.0f s of steps", run.Name, record.Loss.Text("%.4f"), record.Seconds))
	} else if w.failed == nil {
		w.failed = err
	}
	return err
}

// inOrder is the log in the order of the plan, other lines first, so that it does not depend on which run was faster.
func (w *work) inOrder() []Record {
	place := map[string]int{}
	for i, run := range w.plan.Runs {
		place[run.Name] = i + 1
	}
	slices.SortStableFunc(w.log, func(a, b Record) int { return cmp.Compare(place[a.Run], place[b.Run]) })
	return w.log
}

func (w *work) note(line string) {
	if w.options.Note != nil {
		w.options.Note(line)
	}
}
