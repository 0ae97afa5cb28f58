package cuda

import "math"

// Arg is one argument of a kernel: its bits and its size in bytes.
type Arg struct {
	bits uint64
	size int
}

// Int passes a 32-bit int.
func Int(n int) Arg { return Arg{uint64(uint32(int32(n))), 4} }

// Long passes a 64-bit int.
func Long(n int) Arg { return Arg{uint64(n), 8} }

// Unsigned passes a 64-bit unsigned int.
func Unsigned(n uint64) Arg { return Arg{n, 8} }

// Bool passes a 32-bit int, 1 or 0.
func Bool(b bool) Arg {
	if b {
		return Int(1)
	}
	return Int(0)
}

// Float passes a 32-bit float.
func Float(x float64) Arg { return Arg{uint64(math.Float32bits(float32(x))), 4} }

// Double passes a 64-bit float.
func Double(x float64) Arg { return Arg{math.Float64bits(x), 8} }

// Grid is how many threads run a kernel, and how.
type Grid struct {
	X, Y, Z int // blocks; 0 means 1
	Threads int // a block, in one dimension
	Shared  int // bytes of dynamic shared memory a block
}

// CeilDiv is n/by, rounded up.
func CeilDiv(n, by int) int { return (n + by - 1) / by }

// Over returns a grid of one thread an element.
func Over(n, threads int) Grid {
	return Grid{X: (n + threads - 1) / threads, Threads: threads}
}
