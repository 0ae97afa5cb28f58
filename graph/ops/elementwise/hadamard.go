package elementwise

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// hadamard multiplies x by a gain. Inputs: x, gain.
type hadamard struct{}

// Hadamard multiplies x elementwise by a parameter with the shape of its last axes, such as
// LayerScale's gain on a sublayer's output (Touvron et al. 2021, arXiv 2103.17239, section 2):
//
//	y_t = gain ⊙ x_t
//
// x [T, ...], y like x; gain has the shape of one or more of x's last axes: with x [T, n, D], a
// gain [D] multiplies each row of a token, and a gain [n, D] has one factor for each entry.
func Hadamard(b *graph.Builder, x, gain *gorgonia.Node) *gorgonia.Node {
	return b.Apply(hadamard{}, x, gain)
}

func (hadamard) String() string { return "Hadamard" }

func (hadamard) Infer(in []graph.Signature) (graph.Signature, error) {
	x, gain := in[0].Shape, in[1].Shape
	if gain.Dims() < 1 || gain.Dims() >= x.Dims() || !slices.Equal(gain, x[x.Dims()-gain.Dims():]) {
		return graph.Signature{}, errors.Errorf("gain: want the shape of the last axes of x %v, without the tokens', got %v", x, gain)
	}
	return in[0], nil
}

func (hadamard) InPlace(i int) bool { return i == 0 }

func (hadamard) VJP(d *graph.Derivative) {
	primary := d.MakeAccumulating(hadamardGrad{}, d.Gradient(), d.Input(0), d.Input(1))
	d.SetFloat32(1, primary, 0, "GradGain of Hadamard")
}

func (k hadamard) Run(c *graph.Call) {
	graph.Dispatch(c, k, runHadamard, runHadamard)
}

func runHadamard[T kernel.Float](_ hadamard, c graph.CallOf[T]) {
	gain := c.In(1)
	graph.State[kernel.Hadamard[T]](c).Forward(c.Pool(), c.Out(), c.In(0), gain, c.Result().Size()/len(gain))
}

// hadamardGrad computes dx = gain ⊙ dy; its secondary is dgain, the sum of dy ⊙ x. Inputs: dy, x,
// gain and optionally the gradient of x from its other readers, to which dx is added.
type hadamardGrad struct{ graph.NoGradient }

func (hadamardGrad) String() string { return "GradX of Hadamard" }

func (hadamardGrad) InPlace(i int) bool { return i == 0 || i == 3 }

func (hadamardGrad) SameType() bool { return true }

func (k hadamardGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runHadamardGrad, runHadamardGrad)
}

func runHadamardGrad[T kernel.Float](_ hadamardGrad, c graph.CallOf[T]) {
	gain := c.In(2)
	dgain, accumulate := c.SecondaryOut(0)
	graph.State[kernel.Hadamard[T]](c).Backward(c.Pool(), c.Out(), c.In(3), dgain, c.In(0), c.In(1), gain, c.Result().Size()/len(gain), accumulate)
}
