package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// lossGradient is the scalar 1 that a gradient starts from. It takes the loss as its input so
// that it belongs to the loss's graph and comes after it.
type lossGradient struct {
	NoGradient
	dtype tensor.Dtype
}

func (b *Builder) lossGradient(loss *gorgonia.Node) *gorgonia.Node {
	return b.Apply(lossGradient{dtype: loss.Dtype()}, loss)
}

func (lossGradient) String() string { return "One" }

func (k lossGradient) Infer([]Signature) (Signature, error) {
	return Signature{k.dtype, tensor.ScalarShape()}, nil
}

func (k lossGradient) Run(c *Call) error {
	return Dispatch(c, k, setOne[float32], setOne[float64])
}

func setOne[T kernel.Float](_ lossGradient, c *Call) error {
	Out[T](c)[0] = 1
	return nil
}
