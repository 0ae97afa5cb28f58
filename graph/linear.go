package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// linear is a matrix product over each token's flattened features.
type linear struct {
	transposed bool
	scale      float64
}

// LinearOptions vary Linear. The zero value is y = x W.
type LinearOptions struct {
	Bias       *gorgonia.Node // [out], or nil
	Transposed bool           // W is stored [out, ...in], as a tied embedding is
	Scale      float64        // factor of x W (muP multiplier); 0 means 1
}

// Linear is an affine map of each token's features:
//
//	y_t = scale * x_t W + bias
//
// x [T, ...in] is read flattened over its last axes, W is [in, out], y is [T, out].
func (b *Builder) Linear(x, w *gorgonia.Node, o LinearOptions) *gorgonia.Node {
	if o.Scale == 0 {
		o.Scale = 1
	}
	y := b.Apply(linear{o.Transposed, o.Scale}, x, w)
	if o.Bias != nil {
		y = b.Bias(y, o.Bias)
	}
	return y
}

func (k linear) String() string {
	return fmt.Sprintf("Linear(transposed=%t, scale=%g)", k.transposed, k.scale)
}

func (k linear) FLOPs(c Cost) int { return 2 * c.Signature(0).Size() * c.Result().Width() }

// inOut returns the weight's two sides.
func (k linear) inOut(w Signature) (inputs, outputs int) {
	if k.transposed {
		return w.Width(), w.Leading()
	}
	return w.Leading(), w.Width()
}

func (k linear) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	inputs, outputs := k.inOut(in[1])
	if in[1].Shape.Dims() < 2 || in[0].Shape.Dims() < 2 || in[0].Width() != inputs {
		return Signature{}, errors.Errorf("want x [tokens, %d] for a weight of shape %v, got %v", inputs, in[1].Shape, in[0].Shape)
	}
	return Signature{in[0].DType, WithTokens(in[0].Leading(), outputs)}, nil
}

func (k linear) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, k.gradX(d))
	}
	if d.Wants(1) {
		d.Set(1, d.Apply(linearGradW{of: k, w: d.Signature(1)}, d.Input(0), d.Gradient()))
	}
}

// gradX is the gradient of x; where x is the GELU of a LinearGelu and only this reads it,
// it is taken on to what is before the GELU in the same pass.
func (k linear) gradX(d *Derivative) *gorgonia.Node {
	if x := d.Only(0); x != nil && k.scale == 1 {
		if a, ok := PrimitiveOf(x).(activated); ok {
			h := Inputs(x)[0]
			return d.Apply(linearGradGelu{k, a.gelu, SignatureOf(h)}, d.Gradient(), d.Input(1), d.Value(h))
		}
	}
	return d.Apply(linearGradX{of: k, x: d.Signature(0)}, d.Gradient(), d.Input(1))
}

func (k linear) Run(c *Call) error {
	return Dispatch(c, k, runLinear[float32], runLinear[float64])
}

func runLinear[T kernel.Float](k linear, c *Call) error {
	tokens := c.Signature(0).Leading()
	inputs, outputs := k.inOut(c.Signature(1))
	ldw := outputs
	if k.transposed {
		ldw = inputs
	}
	State[kernel.Gemm[T]](c).Run(c.Pool(), false, k.transposed, tokens, outputs, inputs, T(k.scale),
		In[T](c, 0), inputs, In[T](c, 1), ldw, 0, Out[T](c), outputs)
	return nil
}

// linearGradX is dx = scale * dy W^T: inputs dy and W.
type linearGradX struct {
	NoGradient
	of linear
	x  Signature
}

func (k linearGradX) String() string { return "GradX of " + k.of.String() }

func (linearGradX) FLOPs(c Cost) int { // dy W^T
	return 2 * c.Signature(0).Size() * c.Result().Width()
}

func (k linearGradX) Infer([]Signature) (Signature, error) { return k.x, nil }

func (k linearGradX) Run(c *Call) error {
	return Dispatch(c, k, runLinearGradX[float32], runLinearGradX[float64])
}

func runLinearGradX[T kernel.Float](k linearGradX, c *Call) error {
	inputs, outputs := k.of.inOut(c.Signature(1))
	ldw := outputs
	if k.of.transposed {
		ldw = inputs
	}
	State[kernel.Gemm[T]](c).Run(c.Pool(), false, !k.of.transposed, k.x.Leading(), inputs, outputs, T(k.of.scale),
		In[T](c, 0), outputs, In[T](c, 1), ldw, 0, Out[T](c), inputs)
	return nil
}

// linearGradW is dW = scale * x^T dy (or its transpose): inputs x and dy.
type linearGradW struct {
	NoGradient
	of linear
	w  Signature
}

func (k linearGradW) String() string { return "GradW of " + k.of.String() }

func (linearGradW) FLOPs(c Cost) int { // x^T dy
	return 2 * c.Signature(0).Size() * c.Signature(1).Width()
}

func (k linearGradW) Infer([]Signature) (Signature, error) { return k.w, nil }

func (k linearGradW) Accumulates() bool { return true }

func (k linearGradW) Run(c *Call) error {
	return Dispatch(c, k, runLinearGradW[float32], runLinearGradW[float64])
}

func runLinearGradW[T kernel.Float](k linearGradW, c *Call) error {
	inputs, outputs := k.of.inOut(k.w)
	left, right := In[T](c, 0), In[T](c, 1) // x [tokens, inputs], dy [tokens, outputs]
	rows, columns := inputs, outputs
	if k.of.transposed {
		left, right, rows, columns = right, left, outputs, inputs
	}
	var beta T
	if c.Accumulate() {
		beta = 1
	}
	State[kernel.Gemm[T]](c).Run(c.Pool(), true, false, rows, columns, c.Signature(0).Leading(), T(k.of.scale),
		left, rows, right, columns, beta, Out[T](c), columns)
	return nil
}
