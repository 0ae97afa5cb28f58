package numerics

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Concurrently calls f with 0 to n-1, at most GOMAXPROCS calls at a time, until ctx ends. It
// returns ctx's error or, if ctx has not ended, the error of the failed call with the smallest i.
func Concurrently(ctx context.Context, n int, f func(i int) error) error {
	var work sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, n)
	for range min(n, runtime.GOMAXPROCS(0)) {
		work.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	work.Wait()
	return cmp.Or(ctx.Err(), cmp.Or(errs...))
}
