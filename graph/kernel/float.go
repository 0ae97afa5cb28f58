// Package kernel has the computations that graph ops call on the CPU: functions over row-major
// slices, in portable Go with faster paths under the same names. It does not use Gorgonia.
//
// A kernel is a struct whose zero value is ready to use. It keeps its scratch buffers and its
// arguments between calls, so that only the first calls allocate; one kernel value must not run
// twice at the same time. A Pool splits the work by static partition, and no sum depends on the
// split: processors of one kind give the same bits with any number of threads.
package kernel

// Float is the element type of a kernel: float32 has the fast paths; float64 is for finite
// differences and for references in tests.
type Float interface{ float32 | float64 }

// grow returns a slice of n elements, reusing s if it is large enough. The content is unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
