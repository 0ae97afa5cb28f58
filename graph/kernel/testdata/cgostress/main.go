// Command cgostress multiplies matrices of bfloat16 in goroutines and in threads of C that call Go,
// with timer signals, and fails if a product differs from the first. The test of package kernel
// runs it.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

extern void multiply(int);

static void *calls(void *n) {
	stack_t small = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&small, 0);
	for (int i = 0; i < 300; i++) {
		multiply((int)(long)n);
	}
	return 0;
}

static void threads(int n) {
	pthread_t t[64];
	for (long i = 0; i < n; i++) pthread_create(&t[i], 0, calls, (void *)i);
	for (int i = 0; i < n; i++) pthread_join(t[i], 0);
}
*/
import "C"

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/residua-go/residua/graph/kernel"
)

const m, n, k = 45, 130, 333

var (
	a, b     []kernel.BFloat16
	want     []float32
	products atomic.Int64
	wrong    atomic.Int64
)

func product() []float32 {
	c := make([]float32, m*n)
	(&kernel.GemmBFloat16[float32]{}).Run(nil, false, true, m, n, k, 1, a, k, b, k, 0, c, n)
	return c
}

//export multiply
func multiply(C.int) {
	if !slices.Equal(want, product()) {
		wrong.Add(1)
	}
	products.Add(1)
}

func main() {
	for i := range max(m, n) * k {
		x := kernel.BFloat16(0x3f00 + i*37%255)
		a, b = append(a, x), append(b, x^kernel.BFloat16(i%2)<<15)
	}
	want = product()
	runtime.SetCPUProfileRate(1000)
	if err := pprof.StartCPUProfile(io.Discard); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 200 {
				multiply(0)
				runtime.GC()
			}
		})
	}
	C.threads(16)
	all.Wait()
	pprof.StopCPUProfile()
	fmt.Println(kernel.PathOf(true), products.Load(), "products,", wrong.Load(), "wrong")
	if wrong.Load() > 0 {
		os.Exit(1)
	}
}
