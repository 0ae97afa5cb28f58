package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// secondaryOutput is a further output of an op. An op of Gorgonia has one output; a pass that
// makes several tensors at once (a gradient with respect to the stream, the gain and the keys) is
// a primary node and, for each further tensor, a secondary node, which emits what the primary
// computed in its own run. A secondary's buffer is alive from the primary's run on (see plan.go).
//
// Inputs: the primary's output and, when scaled, a scalar factor.
type secondaryOutput struct {
	NoGradient
	what   string
	result Signature
	scaled bool
}

func (k secondaryOutput) String() string { return fmt.Sprintf("%s %v", k.what, k.result.Shape) }

// Bytes counts the scaling, which is done in place. An output that is not scaled was written, and
// counted, by its primary.
func (k secondaryOutput) Bytes(c Cost) int {
	if !k.scaled {
		return 0
	}
	return 2 * c.Result().Bytes()
}

func (k secondaryOutput) Infer([]Signature) (Signature, error) { return k.result, nil }

func (k secondaryOutput) Accumulates() bool { return !k.scaled }

func (k secondaryOutput) Run(c *Call) {
	if k.scaled {
		Dispatch(c, k, scaleInPlace, scaleInPlace)
	}
}

func scaleInPlace[T kernel.Float](_ secondaryOutput, c CallOf[T]) {
	if factor := c.In(1)[0]; factor != 1 {
		y := [][]T{c.Out()}
		State[kernel.Elementwise[T]](c).Run(c.Pool(), kernel.InstanceOf[T](kernel.Scale[float32], kernel.Scale[float64]), y, y, float64(factor))
	}
}

// secondary makes secondary node number i of primary, with the given shape. factor is a scalar node
// to multiply by, or nil.
func (b *Builder) secondary(primary *gorgonia.Node, i int, what string, shape tensor.Shape, factor *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	k := secondaryOutput{what: what, result: Signature{opOf(primary).in[0].DType, shape.Clone()}, scaled: factor != nil}
	if factor != nil {
		return b.Secondary(k, i, primary, factor)
	}
	return b.Secondary(k, i, primary)
}

// Secondary makes a node of k that is secondary number i of primary: the primary's run fills its
// buffer (SecondaryOut), and its own run does nothing.
func (b *Builder) Secondary(k Primitive, i int, primary *gorgonia.Node, others ...*gorgonia.Node) *gorgonia.Node {
	node := b.Apply(k, append(gorgonia.Nodes{primary}, others...)...)
	if node == nil {
		return nil
	}
	main := opOf(primary)
	opOf(node).primary = main
	for len(main.secondaries) <= i {
		main.secondaries = append(main.secondaries, nil)
	}
	if main.secondaries[i] != nil {
		b.fail(errors.Errorf("graph: %s: want one differentiation of a loss, got a second: build the graph again", opType(main.Primitive)))
		return nil
	}
	main.secondaries[i] = opOf(node)
	return node
}
