// Package graph makes Gorgonia graphs of ops for language models built on residual streams,
// and runs them fast. The ops are Primitives: those of the packages in graph/ops, or your own.
//
// An op implements gorgonia.Op and gorgonia.SDOp: its nodes can stand in any Gorgonia graph,
// next to stock nodes, and work with gorgonia.Grad and the stock tape machine.
//
//	b := graph.On(g, graph.Options{})
//	u := readwrite.NormRead(b, x, gain, keys, norm.Options{})
//	if err := b.Err(); err != nil { … }
//
// A Builder makes nodes and remembers the first error, so that a forward pass reads as
// its equations do. A Store holds parameters, gradients and optimizer moments by name,
// outside any graph. A Program takes a build function through differentiation, buffer
// planning and compilation into a tape machine, and runs it.
//
// Layout: T = batch*seq tokens, row-major; a vector stream is [T, D], a matrix stream
// [T, Dk, Dv]; tokens, targets and document starts are Int32.
package graph
