package distributed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

const short = 20 * time.Millisecond // a timeout

// inBubble are options for tests under testing/synctest, whose time stands still while a goroutine
// can run.
var inBubble = Options{Timeout: short, sleep: time.Sleep}

// A rank that is stopped is named by all others that wait, soon after the timeout.
func TestStoppedRankIsNamed(t *testing.T) { synctest.Test(t, testStoppedRankIsNamed) }

func testStoppedRankIsNamed(t *testing.T) {
	transports, all := freezable(3)
	errs := ranks(transports, inBubble, func(g *Group) error {
		defer g.Close()
		if g.Rank() == 1 {
			all[1].frozen.Store(true)
			time.Sleep(4 * short)
			all[1].frozen.Store(false)
			return nil
		}
		begun := time.Now()
		err := AllReduce(g, "gradients, bucket 3", make([]float32, 10)).Wait()
		if took := time.Since(begun); took > short+short/2 {
			return errors.Errorf("the error took %v", took)
		}
		if again := Barrier(g, "later").Wait(); again != err {
			return errors.Errorf("a later error: want the first, got %v", again)
		}
		return err
	})
	for _, r := range []int{0, 2} {
		var silent *SilentError
		require.ErrorAs(t, errs[r], &silent)
		require.Equal(t, 1, silent.Rank)
		require.Equal(t, "gradients, bucket 3", silent.What)
		require.GreaterOrEqual(t, silent.Since, short)
		require.Positive(t, silent.PID)
		require.ErrorContains(t, errs[r], "rank 1 (process ")
		require.ErrorContains(t, errs[r], `while this rank waited for "gradients, bucket 3"`)
	}
}

// A rank that computes for longer than the timeout still sends heartbeats and is waited for.
func TestSlowRankIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		succeed(t, 2, inBubble, func(g *Group) error {
			time.Sleep(time.Duration(g.Rank()) * 30 * short)
			return AllReduce(g, "sum", make([]float64, 3)).Wait()
		})
	})
}

// A rank that was stopped for a while does not take the others for dead when it goes on.
func TestRankThatWasStoppedGoesOn(t *testing.T) { synctest.Test(t, testRankThatWasStoppedGoesOn) }

func testRankThatWasStoppedGoesOn(t *testing.T) {
	transports, all := freezable(2)
	errs := ranks(transports, inBubble, func(g *Group) error {
		time.Sleep(short) // both have met
		if g.Rank() == 0 {
			all[1].frozen.Store(true)
			time.Sleep(3 * short)
			all[1].frozen.Store(false)
			time.Sleep(short) // hears rank 1 again before it waits
		} else {
			time.Sleep(3*short + short/100)
		}
		if err := Barrier(g, "barrier").Wait(); err != nil {
			return err
		}
		return g.Close()
	})
	require.Equal(t, []error{nil, nil}, errs)
}

// A transport that returns from no call does not keep Wait from returning.
func TestTransportThatHangs(t *testing.T) { synctest.Test(t, testTransportThatHangs) }

func testTransportThatHangs(t *testing.T) {
	transports, all := freezable(2)
	errs := ranks(transports, inBubble, func(g *Group) error {
		if g.Rank() == 1 {
			time.Sleep(6 * short)
			return g.Close()
		}
		all[0].frozen.Store(true)
		err := Barrier(g, "barrier").Wait()
		all[0].frozen.Store(false)
		g.Abort(1)
		return err
	})
	require.ErrorContains(t, errs[0], "memory of one process has not returned from a call for 20ms")
}

// A rank that has said goodbye is not expected to be heard again.
func TestRankThatHasLeftIsNotSilent(t *testing.T) {
	g := &Group{peers: make([]peer, 2), options: Options{Timeout: short}}
	g.waiting.Add(1)
	require.Error(t, g.silent(time.Now()))
	g.peers[1].left = true
	require.NoError(t, g.silent(time.Now()))
}

// A rank that does not come to the start is named by its number.
func TestRankThatNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, err := New(Memory(2)[0], inBubble)
		require.ErrorContains(t, err, "waiting for the 2 ranks of the job: rank 1 has been silent for ")
		g.Abort(1)
	})
}

func TestAbort(t *testing.T) {
	errs := ranks(Memory(2), Options{}, func(g *Group) error {
		if g.Rank() == 0 {
			g.Abort(3)
			g.Abort(3)
			return Barrier(g, "barrier").Wait()
		}
		return Barrier(g, "barrier").Wait()
	})
	require.ErrorIs(t, errs[0], errEnded)
	require.ErrorContains(t, errs[1], "rank 0 has ended the job with exit code 3")
}

// Ranks on one host are counted in their order.
func TestLocal(t *testing.T) {
	g := &Group{rank: 3, peers: []peer{{host: "a"}, {host: "b"}, {host: "a"}, {host: "b"}, {host: "b"}}}
	rank, size := g.Local()
	require.Equal(t, []int{1, 3}, []int{rank, size})
}

func TestCollectiveAfterClose(t *testing.T) {
	errs := ranks(Memory(2), Options{}, func(g *Group) error {
		if err := g.Close(); err != nil {
			return err
		}
		require.ErrorIs(t, g.Close(), errEnded)
		return Barrier(g, "barrier").Wait()
	})
	for _, err := range errs {
		require.ErrorIs(t, err, errEnded)
	}
}

func TestNegativeTimeout(t *testing.T) {
	_, err := New(Memory(1)[0], Options{Timeout: -1})
	require.EqualError(t, err, "timeout of a silent rank: want > 0, got -1ns")
}
