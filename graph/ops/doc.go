// Package ops has no code of its own: its directories are the ops of models, a family each.
// An op is a graph.Primitive, its gradient and its CUDA launch, in one package; what makes a
// node of it is a function of a graph.Builder:
//
//	y := linear.Map(b, norm.Layer(b, x, gain), w, linear.Options{})
//
// They use what every package can use: nothing in package graph knows one of them.
package ops
