package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// lossGradient computes the scalar 1 from which differentiation starts. It takes the loss as its
// input so that it belongs to the loss's graph and runs after it.
type lossGradient struct{ NoGradient }

func (b *Builder) lossGradient(loss *gorgonia.Node) *gorgonia.Node {
	return b.Apply(lossGradient{}, loss)
}

func (lossGradient) String() string { return "One" }

func (k lossGradient) Run(c *Call) {
	Dispatch(c, k, setOne, setOne)
}

func setOne[T kernel.Float](_ lossGradient, c CallOf[T]) {
	c.Out()[0] = 1
}
