//go:build cuda

package emulator

import (
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"
	"gorgonia.org/cu"

	"github.com/residua-go/residua/graph/cuda/nccl"
)

// makeCurrent makes the context current on the calling thread until the test ends.
func makeCurrent(t *testing.T) cu.CUContext {
	d, err := cu.GetDevice(0)
	require.NoError(t, err)
	c, err := d.MakeContext(cu.SchedAuto)
	require.NoError(t, err)
	require.NoError(t, c.Lock())
	t.Cleanup(c.Unlock)
	return c
}

// finished waits until a communicator has done what it was asked for.
func finished(c *nccl.Comm) error {
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(100 * time.Microsecond) {
		if ready, err := c.Ready(); ready || err != nil {
			return err
		}
	}
	return errors.New("not done after 10 s")
}

// onRanks runs f on ranks of this process, which share a device.
func onRanks(t *testing.T, context cu.CUContext, ranks int, f func(rank int, c *nccl.Comm) error) []error {
	id, err := nccl.NewID()
	require.NoError(t, err)
	errs := make([]error, ranks)
	var all sync.WaitGroup
	for r := range ranks {
		all.Go(func() {
			if errs[r] = context.Lock(); errs[r] != nil {
				return
			}
			defer context.Unlock()
			c, err := nccl.Join(id, r, ranks)
			if err == nil {
				err = finished(c)
			}
			if err == nil {
				err = f(r, c)
			}
			errs[r] = err
		})
	}
	all.Wait()
	return errs
}

// toDevice returns device memory with values.
func toDevice(values []float32) (cu.DevicePtr, error) {
	p, err := cu.MemAlloc(int64(4 * len(values)))
	if err != nil {
		return 0, err
	}
	return p, cu.MemcpyHtoDAsync(p, unsafe.Pointer(unsafe.SliceData(values)), int64(4*len(values)), cu.NoStream)
}

// fromDevice returns n values.
func fromDevice(p cu.DevicePtr, n int) ([]float32, error) {
	values := make([]float32, n)
	if err := cu.MemcpyDtoHAsync(unsafe.Pointer(unsafe.SliceData(values)), p, int64(4*n), cu.NoStream); err != nil {
		return nil, err
	}
	return values, cu.Synchronize()
}

// TestCollectives: sums are in the order of ranks and go to the owner alone, and copies come from
// the owner; pieces may be of any length.
func TestCollectives(t *testing.T) {
	context := makeCurrent(t)
	const ranks, n, cut = 3, 40_000, 17_001
	number := func(rank, i int) float32 { return float32(math.Sin(float64(rank*n+i))) * float32(int(1)<<(i%20)) }
	got := make([][]float32, ranks)
	errs := onRanks(t, context, ranks, func(rank int, c *nccl.Comm) error {
		own := make([]float32, n)
		for i := range own {
			own[i] = number(rank, i)
		}
		x, err := toDevice(own)
		if err != nil {
			return err
		}
		for _, one := range []func(cu.DevicePtr, int, int, cu.Stream) error{c.Reduce, c.Broadcast} {
			err := c.Group(func() error {
				if err := one(x, cut, 2, cu.NoStream); err != nil {
					return err
				}
				return one(x+4*cut, n-cut, 0, cu.NoStream)
			})
			if err == nil {
				err = finished(c)
			}
			if err != nil {
				return err
			}
			if got[rank] != nil {
				continue
			}
			if got[rank], err = fromDevice(x, n); err != nil {
				return err
			}
		}
		all, err := fromDevice(x, n)
		if err == nil {
			got[rank], err = append(got[rank], all...), c.Abort()
		}
		return err
	})
	require.Equal(t, make([]error, ranks), errs)
	for i := range n {
		sum := number(0, i) + number(1, i) + number(2, i)
		for rank := range ranks {
			reduced := number(rank, i)
			if i < cut && rank == 2 || i >= cut && rank == 0 {
				reduced = sum
			}
			require.Equal(t, reduced, got[rank][i], "reduced, %d of rank %d", i, rank)
			require.Equal(t, sum, got[rank][n+i], "broadcast, %d of rank %d", i, rank)
		}
	}
}

// TestCollectiveErrors: errors name the function, the library's words and what it says besides.
func TestCollectiveErrors(t *testing.T) {
	context := makeCurrent(t)
	for name, test := range map[string]struct {
		setting string
		ranks   int
		call    func(rank int, c *nccl.Comm, x cu.DevicePtr) error
		want    string
	}{
		"root":    {"", 1, func(_ int, c *nccl.Comm, x cu.DevicePtr) error { return c.Reduce(x, 4, 5, cu.NoStream) }, "ncclReduce: error 4: invalid argument"},
		"network": {"fails:1", 1, func(_ int, c *nccl.Comm, x cu.DevicePtr) error { return c.Broadcast(x, 4, 0, cu.NoStream) }, "collective of NCCL: error 6: remote process exited or there was a network error: the network is down"},
		"others":  {"", 2, func(rank int, c *nccl.Comm, x cu.DevicePtr) error { return c.Broadcast(x, 4+rank, 0, cu.NoStream) }, "collective of NCCL: error 5: invalid usage: ranks have different collectives"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RESIDUA_EMULATOR_NCCL", test.setting)
			errs := onRanks(t, context, test.ranks, func(rank int, c *nccl.Comm) error {
				x, err := toDevice(make([]float32, 1000))
				if err == nil {
					err = c.Group(func() error { return test.call(rank, c, x) })
				}
				if err == nil {
					err = finished(c)
				}
				return err
			})
			for _, err := range errs {
				require.EqualError(t, err, test.want)
			}
		})
	}
	_, err := nccl.Join(nccl.ID{}, 0, 1)
	require.EqualError(t, err, "ncclCommInitRankConfig: error 4: invalid argument")
}

// TestAbortedJoin: a rank that waits for another one which never comes can give up.
func TestAbortedJoin(t *testing.T) {
	makeCurrent(t)
	id, err := nccl.NewID()
	require.NoError(t, err)
	c, err := nccl.Join(id, 0, 2)
	require.NoError(t, err)
	ready, err := c.Ready()
	require.NoError(t, err)
	require.False(t, ready)
	require.NoError(t, c.Abort())
}
