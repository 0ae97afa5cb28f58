package numerics

import (
	"cmp"
	"runtime"
	"sync"
)

// Concurrently calls f with 0 to n-1, at most GOMAXPROCS calls at a time. It returns the error
// of the first of these calls, in their order, that fails.
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
