package cuda

import (
	"math"

	"github.com/pkg/errors"
)

// maxArgs is the largest number of arguments of a kernel.
const maxArgs = 40

// Arg is one argument of a kernel, an Array, whose address is passed, or a number; or several of
// them: Args.
type Arg interface{ appendTo(all []arg) []arg }

// Args are consecutive arguments.
type Args []Arg

func (a Args) appendTo(all []arg) []arg {
	for _, x := range a {
		all = x.appendTo(all)
	}
	return all
}

// arg is an argument's bits and its size in bytes.
type arg struct {
	bits    uint64
	size    int
	touched int // bytes of memory that the kernel reads or writes through a pointer
}

func (a arg) appendTo(all []arg) []arg { return append(all, a) }

// check compares a launch with what the kernel's PTX declares.
func (e entry) check(grid Grid, args []arg) error {
	if len(args) != len(e.params) || len(args) > maxArgs {
		return errors.Errorf("want %d arguments, got %d", len(e.params), len(args))
	}
	for i, a := range args {
		if a.size != e.params[i] {
			return errors.Errorf("argument %d: want %d bytes, got %d", i, e.params[i], a.size)
		}
	}
	if grid.X < 0 || grid.Threads < 1 || e.threads > 0 && grid.Threads > e.threads {
		return errors.Errorf("want a grid of 1 to %d threads a block, got %+v", e.threads, grid)
	}
	return nil
}

// Int passes a 32-bit int.
func Int(n int) Arg { return arg{bits: uint64(uint32(int32(n))), size: 4} }

// Ints passes several 32-bit ints.
func Ints(n ...int) Args {
	args := make(Args, len(n))
	for i, x := range n {
		args[i] = Int(x)
	}
	return args
}

// Long passes a 64-bit int.
func Long(n int) Arg { return arg{bits: uint64(n), size: 8} }

// Unsigned passes a 64-bit unsigned int.
func Unsigned(n uint64) Arg { return arg{bits: n, size: 8} }

// Bool passes a 32-bit int, 1 or 0.
func Bool(b bool) Arg {
	if b {
		return Int(1)
	}
	return Int(0)
}

// Float passes a 32-bit float.
func Float(x float64) Arg { return arg{bits: uint64(math.Float32bits(float32(x))), size: 4} }

// Double passes a 64-bit float.
func Double(x float64) Arg { return arg{bits: math.Float64bits(x), size: 8} }

// Grid is the number of threads of a launch, and their arrangement.
type Grid struct {
	X, Y, Z int // blocks; 0 means 1
	Threads int // threads of a block, in one dimension
	Shared  int // bytes of dynamic shared memory of a block
}

// CeilDiv returns n/by, rounded up.
func CeilDiv(n, by int) int { return (n + by - 1) / by }

// Over returns a grid with at least one thread for each of n elements.
func Over(n, threads int) Grid {
	return Grid{X: (n + threads - 1) / threads, Threads: threads}
}
