package distributed

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
)

// idle starts nothing.
func idle() error { return nil }

// Work elsewhere may take as long as another rank needs to come to it; later collectives wait for
// it.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		succeed(t, 2, inBubble, func(g *Group) error {
			started := false
			time.Sleep(time.Duration(g.Rank()) * 20 * short)
			calls := 0
			begun := time.Now()
			p := Await(g, "gradients", func() error { started = true; return nil }, func() (bool, error) {
				calls++
				return calls == 3, nil
			})
			if !started {
				return errors.New("Await has returned before it has called start")
			}
			if err := AllReduce(g, "sum", make([]float64, 3)).Wait(); err != nil || calls != 3 {
				return errors.Errorf("%v, %d calls", err, calls)
			}
			if took := time.Since(begun); g.Rank() == 0 && took < 19*short { // it may have met the other a little later than that one met it
				return errors.Errorf("done after %v, before the other rank came", took)
			}
			return p.Wait()
		})
	})
}

// Errors of the work fail the group, and so does work that hangs once all ranks have come.
func TestAwaitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		errs := ranks(Memory(2), inBubble, func(g *Group) error {
			defer g.Abort(1)
			require.EqualError(t, Await(g, "gradients", func() error { return broken }, nil).Wait(), "gradients: broken")
			if g.Rank() == 0 {
				return Await(g, "weights", idle, func() (bool, error) { return false, broken }).Wait()
			}
			begun := time.Now()
			err := Await(g, "weights", idle, func() (bool, error) { return false, nil }).Wait()
			require.LessOrEqual(t, time.Since(begun), 2*short)
			return err
		})
		require.EqualError(t, errs[0], "weights: broken")
		require.Error(t, errs[1])
	})
	synctest.Test(t, func(t *testing.T) {
		errs := ranks(Memory(2), inBubble, func(g *Group) error {
			defer g.Close()
			return Await(g, "weights", idle, func() (bool, error) { return false, nil }).Wait()
		})
		for _, err := range errs {
			require.ErrorContains(t, err, "weights: not done ")
			require.ErrorContains(t, err, " after all ranks had started it: a device or a link hangs")
		}
	})
}

// A rank that stops while the others wait for work elsewhere is named.
func TestAwaitNamesTheStoppedRank(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transports, all := freezable(2)
		errs := ranks(transports, inBubble, func(g *Group) error {
			defer g.Close()
			if g.Rank() == 1 {
				all[1].frozen.Store(true)
				time.Sleep(4 * short)
				all[1].frozen.Store(false)
				return nil
			}
			return Await(g, "gradients on the GPUs", idle, func() (bool, error) { return true, nil }).Wait()
		})
		require.ErrorContains(t, errs[0], "rank 1 (process ")
		require.ErrorContains(t, errs[0], `while this rank waited for "gradients on the GPUs"`)
	})
}
