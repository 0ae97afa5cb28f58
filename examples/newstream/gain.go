package main

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// gain is our op, y_t = g ⊙ x_t for each token t. Inputs: x [T, D], g [D]; y has the shape of x. g
// may have fewer entries, a divisor of D: each then multiplies a run of neighbouring entries. Its
// methods implement graph.Primitive.
type gain struct{}

func (gain) String() string { return "Gain" }

func (gain) Infer(in []graph.Signature) (graph.Signature, error) {
	if len(in) != 2 || in[0].Width()%in[1].Size() != 0 {
		return graph.Signature{}, errors.Errorf("want x [T, D] and g [D], or a divisor of D, got %v", in)
	}
	return in[0], nil
}

func (k gain) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGain, runGain)
}

func runGain[T float32 | float64](_ gain, c graph.CallOf[T]) {
	x, g, y := c.In(0), c.In(1), c.Out()
	width := c.Signature(0).Width()
	for i := range x {
		y[i] = x[i] * g[i%width/(width/len(g))]
	}
}

// VJP makes dx = g ⊙ dy by the op itself, and dg = sum over t of x_t ⊙ dy_t.
func (k gain) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Make(0, k, d.Gradient(), d.Input(1))
	}
	if d.Wants(1) {
		d.Make(1, gainGradient{}, d.Input(0), d.Gradient())
	}
}

// gainGradient computes dg = sum over t of x_t ⊙ dy_t [D]. Inputs: x, dy [T, D].
type gainGradient struct{ graph.NoGradient }

func (gainGradient) String() string { return "GradG of Gain" }

// Accumulates says that Run can add to the sum of earlier micro-batches in dg.
func (gainGradient) Accumulates() bool { return true }

func (k gainGradient) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGainGradient, runGainGradient)
}

func runGainGradient[T float32 | float64](_ gainGradient, c graph.CallOf[T]) {
	x, dy, dg := c.In(0), c.In(1), c.Out()
	if !c.Accumulate() {
		clear(dg)
	}
	width := c.Signature(0).Width()
	for i := range x {
		dg[i%width/(width/len(dg))] += x[i] * dy[i]
	}
}
