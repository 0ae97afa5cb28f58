package analysis

import (
	"runtime"
	"sync"
)

// concurrently calls f with 0 to n-1, as many calls at a time as there are cores.
func concurrently(n int, f func(i int)) {
	var work sync.WaitGroup
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range n {
		work.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			f(i)
		})
	}
	work.Wait()
}
