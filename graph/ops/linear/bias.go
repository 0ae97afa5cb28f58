package linear

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// addBias adds a vector to every token.
type addBias struct{}

// Bias adds a vector to each token's features: y_t = x_t + bias. x [T, ...n], bias [n], y like x.
func Bias(b *graph.Builder, x, bias *gorgonia.Node) *gorgonia.Node {
	return b.Apply(addBias{}, x, bias)
}

func (addBias) String() string { return "Bias" }

func (addBias) Infer(in []graph.Signature) (graph.Signature, error) {
	if in[0].Width() != in[1].Size() {
		return graph.Signature{}, errors.Errorf("bias: want %d entries for x %v, got shape %v", in[0].Width(), in[0].Shape, in[1].Shape)
	}
	return in[0], nil
}

func (addBias) InPlace(i int) bool { return i == 0 }

func (addBias) VJP(d *graph.Derivative) {
	d.Set(0, d.Gradient())
	if d.Wants(1) {
		d.Make(1, sumTokens{result: d.Signature(1)}, d.Gradient())
	}
}

func (k addBias) Run(c *graph.Call) {
	graph.Dispatch(c, k, runBias, runBias)
}

func runBias[T kernel.Float](_ addBias, c graph.CallOf[T]) {
	y, x := c.Out(), c.In(0)
	if &y[0] != &x[0] {
		copy(y, x)
	}
	graph.State[kernel.SumRows[T]](c).AddBias(c.Pool(), y, c.In(1), c.Signature(0).Leading(), c.Signature(0).Width())
}

// sumTokens sums over the tokens: it computes the gradient of a bias.
type sumTokens struct {
	graph.NoGradient
	result graph.Signature
}

func (k sumTokens) String() string { return fmt.Sprintf("SumTokens(%v)", k.result.Shape) }

func (sumTokens) Accumulates() bool { return true }

func (sumTokens) KeepsFloat32() bool { return true }

func (k sumTokens) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSumTokens, runSumTokens)
}

func runSumTokens[T kernel.Float](_ sumTokens, c graph.CallOf[T]) {
	graph.State[kernel.SumRows[T]](c).Run(c.Pool(), c.Out(), c.In(0), c.Signature(0).Leading(), c.Signature(0).Width(), c.Accumulate())
}
