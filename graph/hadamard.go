package graph

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

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
func (b *Builder) Hadamard(x, gain *gorgonia.Node) *gorgonia.Node {
	return b.Apply(hadamard{}, x, gain)
}

func (hadamard) String() string { return "Hadamard" }

func (hadamard) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	x, gain := in[0].Shape, in[1].Shape
	if gain.Dims() < 1 || gain.Dims() >= x.Dims() || !slices.Equal(gain, x[x.Dims()-gain.Dims():]) {
		return Signature{}, errors.Errorf("gain: want the shape of the last axes of x %v, without the tokens', got %v", x, gain)
	}
	return in[0], nil
}

func (hadamard) InPlace(i int) bool { return i == 0 }

func (hadamard) VJP(d *Derivative) {
	primary := d.ApplyAbsorbing(hadamardGrad{}, d.Gradient(), d.Input(0), d.Input(1))
	d.Set(0, primary)
	if d.Wants(1) {
		d.SetFull(1, primary, 0, "GradGain of Hadamard")
	}
}

func (k hadamard) Run(c *Call) error {
	return Dispatch(c, k, runHadamard[float32], runHadamard[float64])
}

func runHadamard[T kernel.Float](_ hadamard, c *Call) error {
	gain := In[T](c, 1)
	State[kernel.Hadamard[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0), gain, c.Result().Size()/len(gain))
	return nil
}

// hadamardGrad is dx = gain ⊙ dy; its secondary is dgain, the sum of dy ⊙ x. Inputs: dy, x,
// gain and, where dx is to be added to it, the gradient that x has from elsewhere.
type hadamardGrad struct{ NoGradient }

func (hadamardGrad) String() string { return "GradX of Hadamard" }

func (hadamardGrad) Infer(in []Signature) (Signature, error) { return in[1], nil }

func (hadamardGrad) InPlace(i int) bool { return i == 0 || i == 3 }

func (k hadamardGrad) Run(c *Call) error {
	return Dispatch(c, k, runHadamardGrad[float32], runHadamardGrad[float64])
}

func runHadamardGrad[T kernel.Float](_ hadamardGrad, c *Call) error {
	gain := In[T](c, 2)
	dgain, accumulate := SecondaryOut[T](c, 0)
	run := State[kernel.Hadamard[T]](c)
	run.Addend = In[T](c, 3)
	run.Backward(c.Pool(), Out[T](c), dgain, In[T](c, 0), In[T](c, 1), gain, c.Result().Size()/len(gain), accumulate)
	return nil
}
