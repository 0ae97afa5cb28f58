package distributed

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pkg/errors"
)

const (
	dataTag      = 1
	heartbeatTag = 2

	// defaultTimeout is the Options.Timeout of a group that is given none.
	defaultTimeout = 60 * time.Second

	// underWay is the largest number of operations that exchange messages at the same time.
	underWay = 4

	// abortGrace is how long Abort waits for the job to end.
	abortGrace = 5 * time.Second
)

var errEnded = errors.New("the group of ranks has ended: Close or Abort was called before")

// Options are settings of a Group.
type Options struct {
	// Timeout is how long a rank may be silent before the ranks that wait for it give up; 0 means
	// 60 s. A rank sends heartbeats even while it computes.
	Timeout time.Duration
	Trace   bool // record spans, for Group.Trace
	// Note, if not nil, is called with a line that says for what New waits, if it waits for long.
	Note func(message string)

	sleep func(time.Duration) // blocks the OS thread; tests replace it
}

// Group is one rank's view of a job. Every rank must start the same collectives in the same
// order; they run in that order, several at a time, while the caller does other work. A
// goroutine of the Group makes all calls of the Transport and sends heartbeats to the other
// ranks. Methods and collectives must not be called concurrently, except for Abort.
type Group struct {
	t          Transport
	options    Options
	rank, size int
	peers      []peer

	submit    chan *operation
	abort     chan int
	leave     chan struct{}
	leaveOnce sync.Once
	ended     chan struct{} // closed when the goroutine has ended
	waiting   atomic.Int32  // number of goroutines that wait for a collective
	rounds    atomic.Int64  // rounds that the goroutine has begun

	// Only the goroutine uses the following fields.
	queue, active []*operation
	failed        []*operation
	buffers       [][]float64 // scratch memory for later operations
	err           error       // why the group has failed
	leaving       bool
	nextBeat      time.Time
	lastRound     time.Time
	vain          int // rounds since a message was last done

	traceMu sync.Mutex
	trace   []Span
}

// New joins the job of a transport and waits for the other ranks, but no longer than the timeout.
// If it returns a Group together with an error, call its Abort to end the job: the transport's
// calls must come from its goroutine.
func New(t Transport, o Options) (*Group, error) {
	if o.Timeout < 0 {
		return nil, errors.Errorf("timeout of a silent rank: want > 0, got %v", o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
	g := &Group{t: t, options: o, submit: make(chan *operation, 16), abort: make(chan int), leave: make(chan struct{}), ended: make(chan struct{})}
	if o.Note == nil {
		g.options.Note = func(string) {}
	}
	ready := make(chan error, 1)
	go g.run(ready)
	switch returned, err := g.started(ready); {
	case !returned:
		return nil, err
	case err != nil:
		return g, err
	}
	said := time.AfterFunc(g.patience(), func() {
		g.options.Note(fmt.Sprintf("waiting for the other %d ranks to tell their hosts", g.size-1))
	})
	defer said.Stop()
	return g, g.meet()
}

// patience is how long New waits before it calls Options.Note.
func (g *Group) patience() time.Duration { return min(10*time.Second, g.options.Timeout/2) }

// started waits until the transport has started, which takes all ranks, and returns its error. If
// that takes longer than the timeout, the goroutine is left in the transport's call, which has not
// returned.
func (g *Group) started(ready <-chan error) (returned bool, err error) {
	begin, said := time.Now(), time.After(g.patience())
	for late := time.After(g.options.Timeout); ; {
		select {
		case err := <-ready:
			return true, err
		case <-said:
			g.options.Note(fmt.Sprintf("waiting for the other ranks of the job to start, for %v now; after %v this one gives up (device.rank_timeout)",
				time.Since(begin).Round(time.Second), g.options.Timeout))
		case <-late:
			return false, errors.Errorf("%s: the ranks of the job have not all started within %v (device.rank_timeout): one has ended before it could join, or "+
				"does not run; its own message says why", g.t.Name(), g.options.Timeout)
		}
	}
}

// Rank returns this rank, 0 to Size-1.
func (g *Group) Rank() int { return g.rank }

// Size returns the number of ranks.
func (g *Group) Size() int { return g.size }

// Local returns this rank's index among the ranks on its host, in the order of ranks from 0,
// and the number of ranks on that host.
func (g *Group) Local() (rank, size int) {
	for r := range g.peers {
		if g.peers[r].host == g.peers[g.rank].host {
			size++
			if r < g.rank {
				rank++
			}
		}
	}
	return rank, size
}

// Name returns the transport's library and its version.
func (g *Group) Name() string { return g.t.Name() }

// Abort ends the processes of all ranks with an exit code. Where the transport cannot do that, it
// returns.
func (g *Group) Abort(code int) {
	select {
	case g.abort <- code:
	case <-time.After(abortGrace): // the goroutine does not return from a call
		return
	case <-g.ended:
	}
	select { // the transport needs time to tell the launcher, which then ends this process, too
	case <-time.After(abortGrace):
	case <-g.ended:
	}
}

// Close waits until all ranks call it, and leaves the job. After a failure it returns the error
// that the collectives have returned.
func (g *Group) Close() error {
	err := Barrier(g, "end of the job").Wait()
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	g.leaveOnce.Do(func() { close(g.leave) })
	if err != nil {
		return err
	}
	<-g.ended
	return g.err
}

// run is the goroutine that makes all calls of the transport.
func (g *Group) run(ready chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(g.ended)
	if g.err = g.t.Start(); g.err == nil {
		g.rank, g.size = g.t.Rank(), g.t.Size()
		g.peers = make([]peer, g.size)
	}
	g.lastRound = time.Now()
	for i := range g.peers {
		g.peers[i].heard = g.lastRound
	}
	ready <- g.err
	for !g.left() {
		g.round()
	}
	if g.err == nil {
		g.err = g.t.Close()
	}
}

// round advances every operation that can be advanced, and rests if there was none.
func (g *Group) round() {
	g.rounds.Add(1)
	for g.take() {
	}
	progressed, err := g.advance()
	if err == nil && g.err == nil {
		err = g.beat()
	}
	if err != nil && g.err == nil {
		g.err = err
	}
	if g.err != nil {
		g.fail()
	}
	g.rest(progressed)
}

// take handles one request of a caller, if there is one, and tells whether there was.
func (g *Group) take() bool {
	select {
	case op := <-g.submit:
		g.queue = append(g.queue, op)
	case code := <-g.abort:
		g.abandon(code)
	case <-g.leaves():
		g.leaving = true
	default:
		return false
	}
	return true
}

// idle waits for a caller's request, or for the next heartbeat if the group has not failed.
func (g *Group) idle() {
	var beat <-chan time.Time
	if g.err == nil {
		timer := time.NewTimer(time.Until(g.nextBeat))
		defer timer.Stop()
		beat = timer.C
	}
	select {
	case op := <-g.submit:
		g.queue = append(g.queue, op)
	case code := <-g.abort:
		g.abandon(code)
	case <-g.leaves():
		g.leaving = true
	case <-beat:
	}
}

// leaves returns the channel that Close closes, or nil once the goroutine has read from it.
func (g *Group) leaves() <-chan struct{} {
	if g.leaving {
		return nil
	}
	return g.leave
}

// abandon ends the job.
func (g *Group) abandon(code int) {
	g.t.Abort(code)
	g.err, g.leaving = errEnded, true
}

// advance begins operations, and ends those whose messages are done.
func (g *Group) advance() (progressed bool, err error) {
	for g.err == nil && len(g.queue) > 0 && len(g.active) < underWay && !(g.queue[0].alone && len(g.active) > 0) {
		op := g.queue[0]
		g.queue = g.queue[1:]
		g.active = append(g.active, op)
		progressed = true
		if err := g.begin(op); err != nil {
			return progressed, err
		}
	}
	var done []*operation
	for _, op := range g.active {
		moved, err := g.test(op)
		if err != nil {
			return progressed, err
		}
		progressed = progressed || moved
		if len(op.flights) == 0 && op.poll == nil {
			done = append(done, op)
		}
	}
	for _, op := range done {
		g.active = slices.DeleteFunc(g.active, func(o *operation) bool { return o == op })
		g.end(op, nil)
	}
	return progressed, nil
}

// fail ends all operations with the group's error. It keeps references to memory that the
// transport may still read or write.
func (g *Group) fail() {
	ops := append(g.active, g.queue...)
	g.active, g.queue = nil, nil
	for _, op := range ops {
		g.end(op, g.err)
	}
	g.failed = append(g.failed, ops...)
}

const (
	spins     = 8   // rounds without a pause
	spinsWait = 100 // while somebody waits
	pause     = 20 * time.Microsecond
	longPause = 200 * time.Microsecond
)

// rest waits a little if messages are under way, else until there is something to do.
func (g *Group) rest(progressed bool) {
	if progressed || g.left() {
		g.vain = 0
		return
	}
	if len(g.active)+len(g.queue) == 0 && !g.leaving {
		g.idle()
		return
	}
	g.vain++
	switch {
	case g.waiting.Load() > 0 && g.vain > spinsWait:
		g.options.sleep(pause)
	case g.waiting.Load() == 0 && g.vain > spins:
		g.options.sleep(min(pause*time.Duration(g.vain-spins), longPause))
	}
}
