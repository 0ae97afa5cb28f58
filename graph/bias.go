package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// addBias adds a vector to every token.
type addBias struct{}

// Bias adds a vector to each token's features: y_t = x_t + bias.
// x [T, ...n], bias [n], y as x.
func (b *Builder) Bias(x, bias *gorgonia.Node) *gorgonia.Node {
	return b.apply(addBias{}, x, bias)
}

func (addBias) String() string { return "Bias" }

func (addBias) Infer(in []Signature) (Signature, error) {
	if err := wantFloats(in); err != nil {
		return Signature{}, err
	}
	if in[0].width() != in[1].size() {
		return Signature{}, errors.Errorf("bias: want %d entries for x %v, got shape %v", in[0].width(), in[0].Shape, in[1].Shape)
	}
	return in[0], nil
}

func (addBias) Differentiable(int) bool { return true }

func (addBias) InPlace(i int) bool { return i == 0 }

func (addBias) VJP(d *Derivative) {
	d.set(0, d.grad)
	if d.wanted[1] {
		d.set(1, d.b.apply(sumTokens{d.op.in[1]}, d.grad))
	}
}

func (k addBias) Run(c *Call) error {
	if c.double() {
		return runBias[float64](c)
	}
	return runBias[float32](c)
}

func runBias[T kernel.Float](c *Call) error {
	y, x := out[T](c), in[T](c, 0)
	if &y[0] != &x[0] {
		copy(y, x)
	}
	state[kernel.SumRows[T]](c).AddBias(c.pool(), y, in[T](c, 1), c.op.in[0].leading(), c.op.in[0].width())
	return nil
}

// sumTokens sums over the tokens: the gradient of a bias.
type sumTokens struct{ result Signature }

func (k sumTokens) String() string { return fmt.Sprintf("SumTokens(%v)", k.result.Shape) }

func (k sumTokens) Infer([]Signature) (Signature, error) { return k.result, nil }

func (sumTokens) Differentiable(int) bool { return false }

func (sumTokens) VJP(*Derivative) {}

func (sumTokens) Accumulates() bool { return true }

func (sumTokens) fullPrecision() bool { return true }

func (k sumTokens) Run(c *Call) error {
	if c.double() {
		return runSumTokens[float64](c)
	}
	return runSumTokens[float32](c)
}

func runSumTokens[T kernel.Float](c *Call) error {
	state[kernel.SumRows[T]](c).Run(c.pool(), out[T](c), in[T](c, 0), c.op.in[0].leading(), c.op.in[0].width(), c.accumulate())
	return nil
}
