// Package ops has no code itself: each of its directories holds a family of ops. A family's package
// has the ops as graph.Primitives, with gradients and CUDA launches, and a function for each op
// that makes its node with a graph.Builder:
//
//	y := linear.Map(b, norm.Apply(b, x, gain, norm.Options{}), w, linear.Options{})
//
// They only use what any other package can use: package graph knows none of them. The tests of
// most families are here, one program in place of one for each: its families lists their cases.
package ops
