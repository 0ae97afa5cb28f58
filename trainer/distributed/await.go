package distributed

import (
	"time"

	"github.com/pkg/errors"
)

// Await runs work that all ranks do together by other means, such as a collective of their
// GPUs. It calls start at once; then the Group's goroutine calls done until it returns true or
// an error. Both must return without blocking. Meanwhile ranks hear each other's heartbeats,
// as in any collective. Pending.Wait returns an error if the work is not done within
// Options.Timeout after the last rank has started it.
func Await(g *Group, what string, start func() error, done func() (bool, error)) *Pending {
	if err := start(); err != nil {
		return &Pending{err: errors.Wrap(err, what)}
	}
	begun := allGather(g, what, Split(make([]byte, g.size), g.size))
	work := &operation{what: what, alone: true}
	work.poll = func() (bool, error) {
		ok, err := done()
		if took := time.Since(work.span.Begun); err == nil && !ok && took > g.options.Timeout {
			err = errors.Errorf("not done %v after all ranks had started it: a device or a link hangs; start the job again and resume from the last checkpoint",
				took.Round(100*time.Millisecond))
		}
		return ok, err
	}
	return g.start(nil, begun, work)
}
