package distributed

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ranks runs fn on each of n ranks, and returns their errors.
func ranks(transports []Transport, o Options, fn func(g *Group) error) []error {
	errs := make([]error, len(transports))
	var all sync.WaitGroup
	for r, transport := range transports {
		all.Go(func() {
			g, err := New(transport, o)
			if err == nil {
				err = fn(g)
			}
			errs[r] = err
		})
	}
	all.Wait()
	return errs
}

// succeed runs fn on each of n ranks, closes their groups and wants no error.
func succeed(t *testing.T, n int, o Options, fn func(g *Group) error) {
	t.Helper()
	errs := ranks(Memory(n), o, func(g *Group) error {
		if err := fn(g); err != nil {
			return err
		}
		return g.Close()
	})
	for r, err := range errs {
		require.NoError(t, err, "rank %d", r)
	}
}

// freezing is a transport that returns from no call while it is frozen, as a process that is
// stopped.
type freezing struct {
	Transport
	frozen atomic.Bool
}

func (f *freezing) Test(r Request) (bool, error) {
	for f.frozen.Load() {
		time.Sleep(time.Millisecond)
	}
	return f.Transport.Test(r)
}

// freezable returns the transports of n ranks which can be frozen.
func freezable(n int) ([]Transport, []*freezing) {
	transports := Memory(n)
	all := make([]*freezing, n)
	for r, t := range transports {
		all[r] = &freezing{Transport: t}
		transports[r] = all[r]
	}
	return transports, all
}
