package distributed

import (
	"time"

	"github.com/pkg/errors"
)

// operation is one exchange of messages between ranks: all of them start together, and finish runs
// when all are done.
type operation struct {
	what     string
	alone    bool // starts when all before it are done
	scratch  int  // bytes that prepare needs
	prepare  func(scratch []byte)
	sends    []message
	receives []message
	poll     func() (bool, error) // tells whether work elsewhere is done; nil: there is none
	finish   func()

	buffer  []float64 // the scratch memory
	flights []flight
	err     error
	done    chan struct{} // closed when finished, or failed with err
	span    Span
}

// message is data that goes to a peer, or comes from it.
type message struct {
	peer int
	data []byte
}

// flight is a message under way. It keeps the data referenced.
type flight struct {
	request Request
	message message
	what    string // "sending to", "receiving from"
}

// begin starts an operation's messages.
func (g *Group) begin(op *operation) error {
	op.span.Begun = time.Now()
	if op.prepare != nil {
		op.buffer = g.takeBuffer(op.scratch)
		op.prepare(bytesOf(op.buffer)[:op.scratch])
	}
	for _, m := range op.receives {
		r, err := g.t.Receive(m.peer, dataTag, m.data)
		if err != nil {
			return errors.Wrapf(err, "%s: receiving from %s", op.what, g.describe(m.peer))
		}
		op.flights = append(op.flights, flight{r, m, "receiving from"})
	}
	for _, m := range op.sends {
		r, err := g.t.Send(m.peer, dataTag, m.data)
		if err != nil {
			return errors.Wrapf(err, "%s: sending to %s", op.what, g.describe(m.peer))
		}
		op.flights = append(op.flights, flight{r, m, "sending to"})
	}
	return nil
}

// test drops an operation's messages that are done, and tells whether there were any.
func (g *Group) test(op *operation) (progressed bool, err error) {
	if op.poll != nil {
		done, err := op.poll()
		if done {
			op.poll = nil
		}
		return done, errors.Wrap(err, op.what)
	}
	kept := op.flights[:0]
	for i, f := range op.flights {
		done, err := g.t.Test(f.request)
		if err != nil {
			op.flights = append(kept, op.flights[i:]...)
			return progressed, errors.Wrapf(err, "%s: %s %s", op.what, f.what, g.describe(f.message.peer))
		}
		if !done {
			kept = append(kept, f)
		}
	}
	progressed = len(kept) < len(op.flights)
	clear(op.flights[len(kept):])
	op.flights = kept
	return progressed, nil
}

// end wakes the goroutines that wait for an operation, which is done or has failed with err.
func (g *Group) end(op *operation, err error) {
	if err == nil {
		if op.finish != nil {
			op.finish()
		}
		g.buffers = append(g.buffers, op.buffer)
	}
	op.buffer, op.err, op.span.Done = nil, err, time.Now()
	g.record(op.span)
	close(op.done)
}

// takeBuffer returns memory for a number of bytes: the smallest earlier buffer that is large
// enough, or a new one.
func (g *Group) takeBuffer(bytes int) []float64 {
	words := (bytes + 7) / 8
	best := -1
	for i, b := range g.buffers {
		if cap(b) >= words && (best < 0 || cap(b) < cap(g.buffers[best])) {
			best = i
		}
	}
	if best < 0 {
		g.buffers = nil // all are too small
		return make([]float64, words)
	}
	b := g.buffers[best][:words]
	g.buffers = append(g.buffers[:best], g.buffers[best+1:]...)
	return b
}
