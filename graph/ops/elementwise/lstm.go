package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// LSTMGates are the inputs of an LSTM cell in addition to its state, all of the state's shape: the
// gates before their sigmoid, and the candidate in its final form.
type LSTMGates struct{ Input, Forget, Output, Candidate *gorgonia.Node }

// LSTMCell computes one step of a long short-term memory cell (Hochreiter & Schmidhuber 1997; the
// forget gate: Gers et al. 2000), with i, f, o and g the input, forget and output gates and the
// candidate:
//
//	c' = sigmoid(f) ⊙ c + sigmoid(i) ⊙ g
//	h' = sigmoid(o) ⊙ c'
//
// c, c' and h' [T, ...], elementwise, in one pass. Neither g nor the output passes through tanh: a
// caller that wants tanh(g) passes it.
func LSTMCell(b *graph.Builder, c *gorgonia.Node, g LSTMGates) (cell, hidden *gorgonia.Node) {
	results := b.Formula(kernel.LSTMCellFormula(), gorgonia.Nodes{c, g.Input, g.Forget, g.Candidate, g.Output})
	return results[0], results[1]
}
