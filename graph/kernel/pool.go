package kernel

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Task is work that can be split over the items [0, n). Part handles the items [lo, hi) as worker
// number worker (0 <= worker < Pool.Threads()), and may run at the same time as other parts of the
// same task. A part may be empty (lo == hi). Part must not call runtime.Goexit.
type Task interface {
	Part(worker, lo, hi int)
}

// Pool is a fixed set of workers. The goroutine that calls Do is worker 0; NewPool starts the
// others, which end with Close or when the Pool is garbage.
//
// A pool serves one goroutine at a time. Do may be called from inside a part: the inner call runs
// its parts one after another on the same goroutine. A kernel that takes a Pool must not run inside
// a part, however, because it uses the scratch memory of the workers.
type Pool struct {
	threads int
	workers *workerGroup // nil when threads is 1
	arenas  []arena
	shared  arena // scratch memory that all parts of a kernel's task read
	rounded arena // the same for an operand that was rounded first

	simulated bool            // note the times of parts
	begin     time.Duration   // of the run, by clock
	items     []int           // of each Do of the run
	parts     []time.Duration // their parts' times
}

// NewPool returns a pool with the given number of threads; numbers below 1 count as 1.
func NewPool(threads int) *Pool {
	p := &Pool{threads: max(1, threads)}
	p.arenas = make([]arena, p.threads)
	if p.threads > 1 {
		p.workers = newWorkerGroup(p.threads)
		runtime.AddCleanup(p, (*workerGroup).close, p.workers)
	}
	return p
}

// Threads returns the number of workers, the calling goroutine included.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.threads
}

// Do splits [0, n) into P = Threads() contiguous parts, of which worker w gets [w*n/P, (w+1)*n/P),
// runs them and returns when all are done. A nil Pool runs everything on the caller. Do allocates
// nothing. If a part panics, Do panics with the same value once all parts have ended; if several
// do, with the value of the lowest worker.
func (p *Pool) Do(n int, t Task) {
	threads := p.Threads()
	if n < 2 || threads == 1 || !p.workers.acquire() {
		p.inTurn(n, t)
		return
	}
	failure := p.workers.run(n, t)
	runtime.KeepAlive(p) // otherwise the clean-up could end the workers during the run
	if failure != nil {
		panic(failure)
	}
}

// Close ends the workers. A closed pool runs the same parts one after another on the
// caller, so results keep their bits. Closing twice is allowed; closing while Do runs
// is not.
func (p *Pool) Close() {
	if p != nil && p.workers != nil {
		p.workers.close()
	}
}

// workerGroup is what a Pool shares with its worker goroutines. It never points to the Pool, so
// that an unclosed Pool can become garbage.
type workerGroup struct {
	task    Task
	n       int
	workers []worker // one for each worker; workers[0] is the caller

	busy    atomic.Bool // a Do is running, or the group is closed
	closed  atomic.Bool
	round   atomic.Uint64 // number of the current Do
	pending atomic.Int64  // workers that have not finished the round
}

// worker holds what one worker waits on, and its panic.
type worker struct {
	parked  atomic.Bool
	wake    chan struct{} // holds at most one token, sent by whoever clears parked
	failure any
	patient bool     // its last wait was not long
	_       [64]byte // keeps neighbours in different cache lines
}

func newWorkerGroup(threads int) *workerGroup {
	g := &workerGroup{workers: make([]worker, threads)}
	for w := range g.workers {
		g.workers[w].wake = make(chan struct{}, 1)
	}
	for w := 1; w < threads; w++ {
		go g.loop(w)
	}
	return g
}

// acquire claims the group for one Do; it fails inside another Do and after close.
func (g *workerGroup) acquire() bool { return g.busy.CompareAndSwap(false, true) }

// run runs one round on the claimed group and returns the panic value of the first worker that has
// one.
func (g *workerGroup) run(n int, t Task) any {
	g.task, g.n = t, n
	g.pending.Store(int64(len(g.workers) - 1))
	g.start()
	g.runPart(0)
	g.workers[0].await(func() bool { return g.pending.Load() == 0 })
	g.task = nil // a task may hold the Pool
	var failure any
	for w := range g.workers {
		if m := &g.workers[w]; m.failure != nil {
			if failure == nil {
				failure = m.failure
			}
			m.failure = nil
		}
	}
	g.busy.Store(false)
	return failure
}

// start begins a round: spinning workers see it themselves, parked ones are woken.
func (g *workerGroup) start() {
	g.round.Add(1)
	for w := 1; w < len(g.workers); w++ {
		g.workers[w].unpark()
	}
}

// runPart runs worker w's share and keeps its panic.
func (g *workerGroup) runPart(w int) {
	defer func() { g.workers[w].failure = recover() }()
	threads := len(g.workers)
	g.task.Part(w, w*g.n/threads, (w+1)*g.n/threads)
}

// loop is the main function of worker w.
func (g *workerGroup) loop(w int) {
	for seen := uint64(0); ; seen++ {
		g.workers[w].await(func() bool { return g.round.Load() != seen })
		if g.closed.Load() {
			return
		}
		g.runPart(w)
		if g.pending.Add(-1) == 0 {
			g.workers[0].unpark()
		}
	}
}

// close ends the worker goroutines. It runs once, outside any Do.
func (g *workerGroup) close() {
	if g.closed.CompareAndSwap(false, true) {
		g.busy.Store(true)
		g.start()
	}
}

// A waiting worker checks spinLooks times whether it has work. Unless its last wait was long, it
// goes on checking for spinTime, and yields now and then. Then it parks, from which it takes some
// tens of microseconds to be woken. The pauses between the kernels of a step, and between the steps
// of decoding, are shorter than spinTime; longer ones leave the processor to others.
const (
	spinTime  = 50 * time.Microsecond
	longWait  = 4 * spinTime // with being woken
	spinLooks = 2048         // some microseconds
)

// await returns when ready returns true. Whoever makes it true must call unpark afterwards.
func (w *worker) await(ready func() bool) {
	if spin(ready) {
		return
	}
	begin := time.Now()
	for w.patient && time.Since(begin) < spinTime {
		runtime.Gosched()
		if spin(ready) {
			return
		}
	}
	for !ready() {
		w.parked.Store(true)
		if ready() && w.parked.CompareAndSwap(true, false) {
			break
		}
		<-w.wake // whoever cleared parked sends
	}
	w.patient = time.Since(begin) < longWait
}

// spin checks spinLooks times.
func spin(ready func() bool) bool {
	for range spinLooks {
		if ready() {
			return true
		}
	}
	return false
}

// unpark wakes the worker if it is parked.
func (w *worker) unpark() {
	if w.parked.CompareAndSwap(true, false) {
		w.wake <- struct{}{}
	}
}

// common returns the scratch memory that all workers read; a nil Pool has none, and own is used.
func (p *Pool) common(own *arena) *arena {
	if p == nil {
		return own
	}
	return &p.shared
}

// arena returns a worker's scratch memory; a nil Pool has none, and own is used.
func (p *Pool) arena(worker int, own *arena) *arena {
	if p == nil {
		return own
	}
	return &p.arenas[worker]
}
