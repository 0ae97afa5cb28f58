// Package kernel holds what the graph ops call on the CPU: plain functions over
// row-major slices, portable Go with faster paths under the same names. It knows
// nothing of Gorgonia.
//
// A kernel is a struct whose zero value is ready to use. It keeps its scratch
// buffers and its arguments between calls, so that a warm call allocates nothing;
// one kernel value must not run twice at the same time. Work is split over a Pool
// by static partition, and no sum depends on how it is split: processors of one kind give
// the same bits with any number of threads.
package kernel

// Float is the element type of a kernel: float32 is the fast path, float64 the
// path that finite differences and float64 references are checked on.
type Float interface{ float32 | float64 }

// grow returns a slice of n elements, reusing s when it is large enough. The
// content is unspecified.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
