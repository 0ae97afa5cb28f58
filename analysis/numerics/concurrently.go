package numerics

import (
	"cmp"
	"runtime"
	"sync"
)

// Concurrently calls f with 0 to n-1, with one call at a time on each core, and returns the first
// call's error.
func Concurrently(n int, f func(i int) error) error {
	var work sync.WaitGroup
	errs, free := make([]error, n), make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		work.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			errs[i] = f(i)
		})
	}
	work.Wait()
	return cmp.Or(errs...)
}
