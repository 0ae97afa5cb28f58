package elementwise

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// addScaled computes x + gain ⊙ z. Inputs: x, z, gain.
type addScaled struct{}

// AddScaled adds z, multiplied by a gain [D] along the last axis, to x, as LayerScale does with a
// sublayer's output (Touvron et al. 2021, arXiv 2103.17239, section 2):
//
//	y_t = x_t + gain ⊙ z_t
//
// x, z and y [T, ...] have the same shape.
func AddScaled(b *graph.Builder, x, z, gain *gorgonia.Node) *gorgonia.Node {
	return b.Apply(addScaled{}, x, z, gain)
}

func (addScaled) String() string { return "AddScaled" }

func (addScaled) Infer(in []graph.Signature) (graph.Signature, error) {
	if !in[1].Shape.Eq(in[0].Shape) {
		return graph.Signature{}, errors.Errorf("what is scaled: want shape %v as what it is added to, got %v", in[0].Shape, in[1].Shape)
	}
	return hadamard{}.Infer(in[1:])
}

func (addScaled) InPlace(i int) bool { return i == 0 }

func (addScaled) SameType() bool { return true }

func (addScaled) VJP(d *graph.Derivative) {
	d.Set(0, d.Gradient())
	if !d.Wants(1) && !d.Wants(2) {
		return
	}
	primary := d.Make(1, hadamardGrad{}, d.Gradient(), d.Input(1), d.Input(2))
	d.SetFloat32(2, primary, 0, "GradGain of AddScaled")
}

func (k addScaled) Run(c *graph.Call) {
	graph.Dispatch(c, k, runAddScaled, runAddScaled)
}

func runAddScaled[T kernel.Float](_ addScaled, c graph.CallOf[T]) {
	gain := c.In(2)
	graph.State[kernel.Hadamard[T]](c).Add(c.Pool(), c.Out(), c.In(0), c.In(1), gain, c.Result().Size()/len(gain))
}
