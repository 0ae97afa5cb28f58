package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// unit is the scalar 1 that a gradient starts from. It takes the loss as its input so
// that it belongs to the loss's graph and comes after it.
type unit struct {
	NoGradient
	dtype tensor.Dtype
}

func (b *Builder) unit(loss *gorgonia.Node) *gorgonia.Node {
	return b.Apply(unit{dtype: loss.Dtype()}, loss)
}

func (unit) String() string { return "One" }

func (k unit) Infer([]Signature) (Signature, error) {
	return Signature{k.dtype, tensor.ScalarShape()}, nil
}

func (k unit) Run(c *Call) error {
	return Dispatch(c, k, setOne[float32], setOne[float64])
}

func setOne[T kernel.Float](_ unit, c *Call) error {
	Out[T](c)[0] = 1
	return nil
}
