package kernel

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// span records the arguments of one call of Part.
type span struct{ worker, lo, hi int }

// recorder records the parts that it is given, separately for each worker.
type recorder struct {
	spans []span
	calls atomic.Int64
}

func (r *recorder) Part(worker, lo, hi int) {
	r.spans[worker] = span{worker, lo, hi}
	r.calls.Add(1)
}

// taskFunc makes a Task from a function.
type taskFunc func(worker, lo, hi int)

func (f taskFunc) Part(worker, lo, hi int) { f(worker, lo, hi) }

// settle waits until at most want goroutines are left, and returns their number.
func settle(want int) int {
	for range 200 {
		if runtime.NumGoroutine() <= want {
			break
		}
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
	}
	return runtime.NumGoroutine()
}

// settled waits until the number of goroutines no longer changes, and returns it.
func settled() int {
	last := -1
	for n := runtime.NumGoroutine(); n != last; n = runtime.NumGoroutine() {
		last = n
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	return last
}

func TestPoolPartition(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 5} {
		pool := NewPool(threads)
		require.Equal(t, threads, pool.Threads())
		for _, n := range []int{0, 1, 2, 3, 7, 1000} {
			want := make([]span, threads)
			for w := range want {
				want[w] = span{w, w * n / threads, (w + 1) * n / threads}
			}
			for range 20 {
				r := &recorder{spans: make([]span, threads)}
				pool.Do(n, r)
				require.Equal(t, want, r.spans)
				require.EqualValues(t, threads, r.calls.Load())
			}
		}
		pool.Close()
	}
}

func TestPoolLessThanOneThread(t *testing.T) {
	assert.Equal(t, 1, NewPool(0).Threads())
	assert.Equal(t, 1, NewPool(-3).Threads())
	var none *Pool
	assert.Equal(t, 1, none.Threads())
	r := &recorder{spans: make([]span, 1)}
	none.Do(5, r)
	assert.Equal(t, []span{{0, 0, 5}}, r.spans)
	none.Close()
}

func TestPoolRunsPartsAtTheSameTime(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	meet := make(chan struct{})
	pool.Do(2, taskFunc(func(worker, _, _ int) {
		if worker == 0 {
			meet <- struct{}{}
		} else {
			<-meet
		}
	}))
}

func TestPoolWakesParkedWorkers(t *testing.T) {
	pool := NewPool(3)
	defer pool.Close()
	for range 5 {
		time.Sleep(10 * time.Millisecond) // long enough for the workers to park
		r := &recorder{spans: make([]span, 3)}
		pool.Do(3, r)
		require.EqualValues(t, 3, r.calls.Load())
	}
	pool.Do(3, taskFunc(func(worker, _, _ int) { // the caller parks, too
		time.Sleep(time.Duration(worker) * 10 * time.Millisecond)
	}))
}

func TestPoolCloseEndsWorkers(t *testing.T) {
	before := settled()
	pool := NewPool(4)
	pool.Do(8, &recorder{spans: make([]span, 4)})
	require.Equal(t, before+3, runtime.NumGoroutine())
	pool.Close()
	pool.Close()
	assert.LessOrEqual(t, settle(before), before)

	r := &recorder{spans: make([]span, 4)}
	pool.Do(10, r)
	assert.Equal(t, 4, pool.Threads())
	assert.Equal(t, []span{{0, 0, 2}, {1, 2, 5}, {2, 5, 7}, {3, 7, 10}}, r.spans)
}

func TestPoolOfOneStartsNoGoroutine(t *testing.T) {
	before := settled()
	pool := NewPool(1)
	assert.Equal(t, before, runtime.NumGoroutine())
	pool.Close()
}

func TestPoolGarbageEndsWorkers(t *testing.T) {
	before := settled()
	func() {
		pool := NewPool(3)
		holder := &poolHolder{pool: pool}
		pool.Do(6, holder) // the task points back to the pool
		require.Equal(t, 2, runtime.NumGoroutine()-before)
	}()
	assert.LessOrEqual(t, settle(before), before)
}

type poolHolder struct{ pool *Pool }

func (h *poolHolder) Part(int, int, int) {}

func TestPoolAllocatesNothing(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	r := &recorder{spans: make([]span, 2)}
	assert.Zero(t, testing.AllocsPerRun(200, func() { pool.Do(2, r) }))
}

func TestPoolPanicReachesTheCaller(t *testing.T) {
	pool := NewPool(3)
	defer pool.Close()
	cause := errors.New("part failed")
	for failing := range 3 {
		var ended atomic.Int64
		assert.PanicsWithValue(t, cause, func() {
			pool.Do(3, taskFunc(func(worker, _, _ int) {
				if worker == failing {
					panic(cause)
				}
				time.Sleep(5 * time.Millisecond)
				ended.Add(1)
			}))
		})
		assert.EqualValues(t, 2, ended.Load(), "the panic must wait for the other parts")
	}
	assert.PanicsWithValue(t, 1, func() {
		pool.Do(3, taskFunc(func(worker, _, _ int) {
			if worker > 0 {
				panic(worker)
			}
		}))
	}, "of several panics the lowest worker's is raised")
	r := &recorder{spans: make([]span, 3)}
	pool.Do(3, r)
	assert.EqualValues(t, 3, r.calls.Load(), "the pool must work after a panic")
}

func TestPoolInsideAPart(t *testing.T) {
	pool := NewPool(2)
	defer pool.Close()
	var calls atomic.Int64
	pool.Do(2, taskFunc(func(_, _, _ int) {
		pool.Do(4, taskFunc(func(_, lo, hi int) { calls.Add(int64(hi - lo)) }))
	}))
	assert.EqualValues(t, 8, calls.Load())
}

func BenchmarkPoolDo(b *testing.B) {
	pool := NewPool(2)
	defer pool.Close()
	r := &recorder{spans: make([]span, 2)}
	for b.Loop() {
		pool.Do(2, r)
	}
}
