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
	cell = b.Apply(lstmCell{}, c, g.Input, g.Forget, g.Candidate, g.Output)
	if cell == nil {
		return nil, nil
	}
	return cell, b.Secondary(lstmOutput{}, 0, cell, g.Output)
}

// lstmCell computes c'; its run also computes h', for which it reads the output gate. Inputs: c, i,
// f, g, o.
type lstmCell struct{}

func (lstmCell) String() string { return "LSTMCell" }

func (lstmCell) Infer(in []graph.Signature) (graph.Signature, error) {
	return graph.SameShape(in, "state", "input gate", "forget gate", "candidate", "output gate")
}

// Differentiable returns false for the output gate, on which c' does not depend.
func (lstmCell) Differentiable(i int) bool { return i < 4 }

func (lstmCell) InPlace(i int) bool { return i == 0 }

func (lstmCell) KeepsFloat32() bool { return true }

func (lstmCell) VJP(d *graph.Derivative) {
	primary := d.Make(0, lstmCellGrad{}, d.Gradient(), d.Input(0), d.Input(1), d.Input(2), d.Input(3))
	for i, what := range []string{"input gate", "forget gate", "candidate"} {
		if d.Wants(1 + i) {
			d.Set(1+i, d.Builder().Secondary(lstmGateGrad{what: what}, i, primary))
		}
	}
}

func (lstmCell) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.LSTMCell[float32], kernel.LSTMCell[float64])
}

// lstmOutput is h' = sigmoid(o) ⊙ c', computed by the run of lstmCell. Inputs: c', o.
type lstmOutput struct{ graph.MadeByPrimary }

func (lstmOutput) String() string { return "LSTMOutput" }

func (lstmOutput) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (lstmOutput) VJP(d *graph.Derivative) {
	primary := d.MakeAccumulating(lstmOutputGrad{}, d.Gradient(), d.Input(0), d.Input(1))
	if d.Wants(1) {
		d.Set(1, d.Builder().Secondary(lstmGateGrad{what: "output gate"}, 0, primary))
	}
}

// lstmOutputGrad computes dc' = dh' o sigmoid(o); its secondary is do. Inputs: dh', c', o and
// optionally the gradient of c' from its other readers, to which dc' is added.
type lstmOutputGrad struct{ graph.NoGradient }

func (lstmOutputGrad) String() string { return "GradCell of LSTMOutput" }

func (lstmOutputGrad) InPlace(i int) bool { return i == 0 || i == 3 }

func (lstmOutputGrad) KeepsFloat32() bool { return true }

func (lstmOutputGrad) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.LSTMOutputGradient[float32], kernel.LSTMOutputGradient[float64])
}

// lstmCellGrad computes dc = dc' o sigmoid(f); its secondaries are di, df and dg. Inputs: dc', c,
// i, f, g.
type lstmCellGrad struct{ graph.NoGradient }

func (lstmCellGrad) String() string { return "GradState of LSTMCell" }

func (lstmCellGrad) KeepsFloat32() bool { return true }

func (lstmCellGrad) Run(c *graph.Call) {
	graph.Elementwise(c, kernel.LSTMCellGradient[float32], kernel.LSTMCellGradient[float64])
}

// lstmGateGrad is the gradient of a gate or the candidate, computed by the run of lstmCellGrad.
// Unlike graph's own secondaries, it cannot add to a parameter's gradient.
type lstmGateGrad struct {
	graph.MadeByPrimary
	graph.NoGradient
	what string
}

func (k lstmGateGrad) String() string { return "Grad of LSTMCell's " + k.what }
