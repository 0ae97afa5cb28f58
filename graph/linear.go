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

func (k linear) flops(c cost) int { return 2 * c.in(0).size() * c.out().width() }

// inOut returns the weight's two sides.
func (k linear) inOut(w Signature) (inputs, outputs int) {
	if k.transposed {
		return w.width(), w.leading()
	}
	return w.leading(), w.width()
}

func (k linear) Infer(in []Signature) (Signature, error) {
	if err := wantFloats(in); err != nil {
		return Signature{}, err
	}
	inputs, outputs := k.inOut(in[1])
	if in[1].Shape.Dims() < 2 || in[0].Shape.Dims() < 2 || in[0].width() != inputs {
		return Signature{}, errors.Errorf("want x [tokens, %d] for a weight of shape %v, got %v", inputs, in[1].Shape, in[0].Shape)
	}
	return Signature{in[0].DType, withTokens(in[0].leading(), outputs)}, nil
}

func (k linear) Differentiable(int) bool { return true }

func (k linear) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, k.gradX(d))
	}
	if d.Wants(1) {
		d.Set(1, d.b.Apply(linearGradW{k, d.op.in[1]}, d.Input(0), d.Gradient()))
	}
}

// gradX is the gradient of x; where x is the GELU of a LinearGelu and only this reads it,
// it is taken on to what is before the GELU in the same pass.
func (k linear) gradX(d *Derivative) *gorgonia.Node {
	if x := d.only(0); x != nil && k.scale == 1 {
		if a, ok := opOf(x).Primitive.(activated); ok {
			h := children(x)[0]
			return d.b.Apply(linearGradGelu{k, a.gelu, signatureOf(h)}, d.Gradient(), d.Input(1), d.value(h))
		}
	}
	return d.b.Apply(linearGradX{k, d.op.in[0]}, d.Gradient(), d.Input(1))
}

func (k linear) Run(c *Call) error {
	if c.Double() {
		return runLinear[float64](k, c)
	}
	return runLinear[float32](k, c)
}

func runLinear[T kernel.Float](k linear, c *Call) error {
	tokens := c.op.in[0].leading()
	inputs, outputs := k.inOut(c.op.in[1])
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
	linear
	x Signature
}

func (k linearGradX) String() string { return "GradX of " + k.linear.String() }

func (linearGradX) flops(c cost) int { // dy W^T
	return 2 * c.in(0).size() * c.out().width()
}

func (k linearGradX) Infer([]Signature) (Signature, error) { return k.x, nil }

func (k linearGradX) Differentiable(int) bool { return false }

func (k linearGradX) VJP(*Derivative) {}

func (k linearGradX) Run(c *Call) error {
	if c.Double() {
		return runLinearGradX[float64](k, c)
	}
	return runLinearGradX[float32](k, c)
}

func runLinearGradX[T kernel.Float](k linearGradX, c *Call) error {
	inputs, outputs := k.inOut(c.op.in[1])
	ldw := outputs
	if k.transposed {
		ldw = inputs
	}
	State[kernel.Gemm[T]](c).Run(c.Pool(), false, !k.transposed, k.x.leading(), inputs, outputs, T(k.scale),
		In[T](c, 0), outputs, In[T](c, 1), ldw, 0, Out[T](c), inputs)
	return nil
}

// linearGradW is dW = scale * x^T dy (or its transpose): inputs x and dy.
type linearGradW struct {
	linear
	w Signature
}

func (k linearGradW) String() string { return "GradW of " + k.linear.String() }

func (linearGradW) flops(c cost) int { // x^T dy
	return 2 * c.in(0).size() * c.in(1).width()
}

func (k linearGradW) Infer([]Signature) (Signature, error) { return k.w, nil }

func (k linearGradW) Differentiable(int) bool { return false }

func (k linearGradW) VJP(*Derivative) {}

func (k linearGradW) Accumulates() bool { return true }

func (k linearGradW) Run(c *Call) error {
	if c.Double() {
		return runLinearGradW[float64](k, c)
	}
	return runLinearGradW[float32](k, c)
}

func runLinearGradW[T kernel.Float](k linearGradW, c *Call) error {
	inputs, outputs := k.inOut(k.w)
	left, right := In[T](c, 0), In[T](c, 1) // x [tokens, inputs], dy [tokens, outputs]
	rows, columns := inputs, outputs
	if k.transposed {
		left, right, rows, columns = right, left, outputs, inputs
	}
	var beta T
	if c.Accumulate() {
		beta = 1
	}
	State[kernel.Gemm[T]](c).Run(c.Pool(), true, false, rows, columns, c.op.in[0].leading(), T(k.scale),
		left, rows, right, columns, beta, Out[T](c), columns)
	return nil
}
