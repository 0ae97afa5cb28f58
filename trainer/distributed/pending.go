package distributed

import (
	"time"

	"github.com/pkg/errors"
)

// Pending is a collective that has started.
type Pending struct {
	g    *Group
	last *operation
	err  error
}

// Wait returns when the collective is done on this rank. If a rank is dead, it returns a
// *SilentError; then the group has failed, and so will all later collectives.
func (p *Pending) Wait() error {
	if p.err != nil {
		return p.err
	}
	p.g.waiting.Add(1)
	defer p.g.waiting.Add(-1)
	return p.g.await(p.last)
}

// await returns when an operation is done or has failed, when the group has ended, or when the
// transport has not returned from a call for the timeout, which its peer's death may cause.
func (g *Group) await(op *operation) error {
	watch := time.NewTicker(g.options.Timeout + g.options.Timeout/2)
	defer watch.Stop()
	for rounds := g.rounds.Load(); ; {
		select {
		case <-op.done:
			return op.err
		case <-g.ended:
			select {
			case <-op.done:
				return op.err
			default:
				return errEnded
			}
		case <-watch.C:
			if now := g.rounds.Load(); now != rounds {
				rounds = now
				continue
			}
			return errors.Errorf("%s has not returned from a call for %v while this rank waited for %q: a rank may have died; start the job again and resume "+
				"from the last checkpoint", g.t.Name(), g.options.Timeout, op.what)
		}
	}
}

// start hands operations to the group's goroutine, unless err says why not.
func (g *Group) start(err error, ops ...*operation) *Pending {
	if err != nil {
		return &Pending{err: err}
	}
	p := &Pending{g: g, last: ops[len(ops)-1]}
	for _, op := range ops {
		op.done = make(chan struct{})
		op.span = Span{What: op.what, Started: time.Now()}
		select {
		case g.submit <- op:
		case <-g.ended:
			p.err = errEnded
		}
	}
	return p
}
