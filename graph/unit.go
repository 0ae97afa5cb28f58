package graph

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// unit is the scalar 1 that a gradient starts from. It takes the loss as its input so
// that it belongs to the loss's graph and comes after it.
type unit struct{ dtype tensor.Dtype }

func (b *Builder) unit(loss *gorgonia.Node) *gorgonia.Node {
	return b.apply(unit{loss.Dtype()}, loss)
}

func (unit) String() string { return "One" }

func (k unit) signature([]signature) (signature, error) {
	return signature{k.dtype, tensor.ScalarShape()}, nil
}

func (unit) differentiable(int) bool { return false }

func (unit) diff(*derivative) {}

func (unit) run(c *call) error {
	if c.double() {
		setOne[float64](c)
	} else {
		setOne[float32](c)
	}
	return nil
}

func setOne[T kernel.Float](c *call) { out[T](c)[0] = 1 }
