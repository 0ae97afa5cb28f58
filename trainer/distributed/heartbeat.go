package distributed

import (
	"fmt"
	"time"

	"github.com/pkg/errors"
)

// beatsPerTimeout is how many heartbeats a rank sends to each other rank within the timeout.
const beatsPerTimeout = 8

const (
	alive   = 0
	goodbye = 1 // a rank's last heartbeat
)

// peer is what a rank knows about another.
type peer struct {
	host string
	pid  int

	heard     time.Time // when its last heartbeat was seen
	in, out   [1]byte
	receiving Request
	sending   Request
	left      bool // its last heartbeat has come
	said      bool // our last one has gone
}

// describe names a rank and its process.
func (g *Group) describe(rank int) string {
	if p := &g.peers[rank]; p.host != "" {
		return fmt.Sprintf("rank %d (%s)", rank, p.place())
	}
	return fmt.Sprintf("rank %d", rank)
}

// left tells whether the goroutine may end: the group has failed and is closed, or every rank has
// said goodbye to every other.
func (g *Group) left() bool {
	if !g.leaving || g.err != nil {
		return g.leaving
	}
	for i := range g.peers {
		if p := &g.peers[i]; i != g.rank && !(p.left && p.said) {
			return false
		}
	}
	return true
}

// beat sends and receives heartbeats when they are due. The error is a *SilentError if somebody
// waits and a rank has been silent for too long.
func (g *Group) beat() error {
	now, interval := time.Now(), g.options.Timeout/beatsPerTimeout
	if gap := now.Sub(g.lastRound); gap > 2*interval { // this process was stopped, and could hear nobody
		for i := range g.peers {
			g.peers[i].heard = g.peers[i].heard.Add(gap)
		}
	}
	g.lastRound = now
	if now.Before(g.nextBeat) && !g.leaving {
		return nil
	}
	g.nextBeat = now.Add(interval)
	for i := range g.peers {
		if i == g.rank {
			continue
		}
		if err := g.hear(i, now); err != nil {
			return errors.Wrapf(err, "receiving a heartbeat from %s", g.describe(i))
		}
		if err := g.say(i); err != nil {
			return errors.Wrapf(err, "sending a heartbeat to %s", g.describe(i))
		}
	}
	return g.silent(now)
}

// hear takes the heartbeats that have come from a rank.
func (g *Group) hear(rank int, now time.Time) (err error) {
	p := &g.peers[rank]
	for !p.left {
		if p.receiving == nil {
			if p.receiving, err = g.t.Receive(rank, heartbeatTag, p.in[:]); err != nil {
				return err
			}
		}
		done, err := g.t.Test(p.receiving)
		if err != nil || !done {
			return err
		}
		p.receiving, p.heard, p.left = nil, now, p.in[0] == goodbye
	}
	return nil
}

// say sends a heartbeat to a rank, if the one before has gone.
func (g *Group) say(rank int) (err error) {
	p := &g.peers[rank]
	if p.sending != nil {
		done, err := g.t.Test(p.sending)
		if err != nil || !done {
			return err
		}
		p.sending, p.said = nil, p.out[0] == goodbye
	}
	if p.said {
		return nil
	}
	if p.out[0] = alive; g.leaving {
		p.out[0] = goodbye
	}
	p.sending, err = g.t.Send(rank, heartbeatTag, p.out[:])
	return err
}

// silent returns an error that names the rank which has been silent for longest, if that is too
// long and somebody waits.
func (g *Group) silent(now time.Time) error {
	if g.waiting.Load() == 0 {
		return nil
	}
	worst := -1
	for i := range g.peers {
		p := &g.peers[i]
		if i == g.rank || p.left || now.Sub(p.heard) <= g.options.Timeout {
			continue
		}
		if worst < 0 || p.heard.Before(g.peers[worst].heard) {
			worst = i
		}
	}
	if worst < 0 {
		return nil
	}
	what := "end of the job"
	if len(g.active) > 0 {
		what = g.active[0].what
	}
	p := &g.peers[worst]
	return &SilentError{Rank: worst, Host: p.host, PID: p.pid, What: what, Since: now.Sub(p.heard)}
}
