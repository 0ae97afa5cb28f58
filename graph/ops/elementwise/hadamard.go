package elementwise

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// hadamard multiplies by a parameter. Inputs: x, gain.
type hadamard struct{}

// Hadamard multiplies x elementwise by a parameter of its last axes, such as LayerScale's gain
// on what a sublayer adds to the stream (Touvron et al. 2021, arXiv 2103.17239, section 2):
//
//	y_t = gain ⊙ x_t
//
// x [T, ...], y as x; gain has the shape of x's last axes, one or more: with x [T, n, D] a
// gain [D] multiplies each row of a token, one [n, D] all of them.
func Hadamard(b *graph.Builder, x, gain *gorgonia.Node) *gorgonia.Node {
	return b.Apply(hadamard{}, x, gain)
}

func (hadamard) String() string { return "Hadamard" }

func (hadamard) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := graph.WantFloats(in); err != nil {
		return graph.Signature{}, err
	}
	x, gain := in[0].Shape, in[1].Shape
	if gain.Dims() < 1 || gain.Dims() >= x.Dims() || !slices.Equal(gain, x[x.Dims()-gain.Dims():]) {
		return graph.Signature{}, errors.Errorf("gain: want the shape of the last axes of x %v, without the tokens', got %v", x, gain)
	}
	return in[0], nil
}

func (hadamard) InPlace(i int) bool { return i == 0 }

func (hadamard) VJP(d *graph.Derivative) {
	primary := d.ApplyAccumulating(hadamardGrad{}, d.Gradient(), d.Input(0), d.Input(1))
	d.Set(0, primary)
	if d.Wants(1) {
		d.SetFloat32(1, primary, 0, "GradGain of Hadamard")
	}
}

func (k hadamard) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runHadamard[float32], runHadamard[float64])
}

func runHadamard[T kernel.Float](_ hadamard, c *graph.Call) error {
	gain := graph.In[T](c, 1)
	graph.State[kernel.Hadamard[T]](c).Forward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), gain, c.Result().Size()/len(gain))
	return nil
}

// hadamardGrad is dx = gain ⊙ dy; its secondary is dgain, the sum of dy ⊙ x. Inputs: dy, x,
// gain and, where dx is to be added to it, the gradient that x has from elsewhere.
type hadamardGrad struct{ graph.NoGradient }

func (hadamardGrad) String() string { return "GradX of Hadamard" }

func (hadamardGrad) Infer(in []graph.Signature) (graph.Signature, error) { return in[1], nil }

func (hadamardGrad) InPlace(i int) bool { return i == 0 || i == 3 }

func (hadamardGrad) SameType() bool { return true }

func (k hadamardGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runHadamardGrad[float32], runHadamardGrad[float64])
}

func runHadamardGrad[T kernel.Float](_ hadamardGrad, c *graph.Call) error {
	gain := graph.In[T](c, 2)
	dgain, accumulate := graph.SecondaryOut[T](c, 0)
	graph.State[kernel.Hadamard[T]](c).Backward(c.Pool(), graph.Out[T](c), graph.In[T](c, 3), dgain, graph.In[T](c, 0), graph.In[T](c, 1), gain, c.Result().Size()/len(gain), accumulate)
	return nil
}
