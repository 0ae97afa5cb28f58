package graph

import "github.com/residua-go/residua/graph/kernel"

// duplicate copies its input into its own memory.
type duplicate struct{}

func (duplicate) String() string { return "Duplicate" }

func (duplicate) Infer(in []Signature) (Signature, error) { return in[0], nil }

func (duplicate) VJP(d *Derivative) { d.Set(0, d.Gradient()) }

func (k duplicate) Run(c *Call) {
	Dispatch(c, k, copyInput, copyInput)
}

func copyInput[T kernel.Float](_ duplicate, c CallOf[T]) {
	copy(c.Out(), c.In(0))
}

// separate replaces the arriving gradient by a copy wherever VJP passed that same node to more than
// one input; the first of these inputs keeps the node. gorgonia.Grad sums gradients by stock Adds,
// which write the sum into one of their terms and would change the other inputs' gradient.
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
