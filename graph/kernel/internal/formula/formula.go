// Package formula has the equations of ops that compute each entry by itself, as Go functions of
// the entries' values. graph/kernel/internal/vecgen reads their source and writes what runs them:
// loops in Go, assembly for each kind of processor's vectors, and CUDA C.
//
// A formula is a function with named results; its body has assignments and one return. It may use
// constants, + - * /, max and min of a value and a constant, and the functions of functions.go.
// Loops and vectors compute in float64 and round the results once; a GPU computes in float32. If
// the first parameter is a Single, loops compute in the arrays' type, and vectors in float32, or in
// float64 if the formula calls a function. Vectors compute in float32 after QuickDecay, too. A
// product and a sum may be computed with one rounding; on a CPU, float64(x*y) prevents that.
//
// FGradient differentiates F's first result, FYGradient a later result y. Its parameters are dy,
// the gradient that arrives at y, any of F's parameters and the first result, by their names, and
// all of F's numbers; it returns dx, the gradient of F's parameter x, for each x that has one. With
// the comment //residua:rows a formula is no op: kernels call its functions for rows on the CPU.
// With //residua:functions it also has a function for CUDA's kernels.
package formula

// Types of parameters and results. All are float64, so that a formula is ordinary Go.
type (
	// Single is an entry of an array, for formulas that loops compute in the arrays' type.
	Single = float64
	// Number is a parameter that is the same for all entries.
	Number = float64
	// Factor is a Number that has the arrays' type.
	Factor = float64
	// Addend is a parameter of a gradient, which may be absent: the gradient from the other uses of
	// the parameter whose gradient is the first result. The formula adds it.
	Addend = float64
	// State is an entry of an array that has 32 bits on a device even if activations have 16.
	State = float64
	// Same is an entry of an array that has the type of the first input on a device.
	Same = float64
	// Sum is a result that is added to what its array holds.
	Sum = float64
)
