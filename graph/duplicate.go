package graph

import "github.com/residua-go/residua/graph/kernel"

// duplicate is an identity whose output is memory of its own.
type duplicate struct{}

func (duplicate) String() string { return "Duplicate" }

func (duplicate) Infer(in []Signature) (Signature, error) { return in[0], nil }

func (duplicate) VJP(d *Derivative) { d.Set(0, d.Gradient()) }

func (k duplicate) Run(c *Call) {
	Dispatch(c, k, copyInput[float32], copyInput[float64])
}

func copyInput[T kernel.Float](_ duplicate, c CallOf[T]) {
	copy(c.Out(), c.In(0))
}

// separate replaces the arriving gradient, where diff passed it on to several inputs, by
// duplicates from the second input on. gorgonia.Grad sums gradients with stock Adds, which
// write the sum into one of their terms; no other input's gradient may lie there.
func (d *Derivative) separate() {
	passed := false
	for i, g := range d.grads {
		if g != d.Gradient() {
			continue
		}
		if passed {
			d.grads[i] = d.Apply(duplicate{}, d.Gradient())
		}
		passed = true
	}
}
