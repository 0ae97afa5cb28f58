package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// secondaryOutput emits a tensor that its leader has already computed in its own run. An op
// has one output; a pass that makes several tensors at once (a gradient with respect to
// the stream, the gain and the keys) is a leader with a secondaryOutput for each further one.
// The secondaryOutput's buffer is alive from the leader's run on (see plan.go).
//
// Inputs: the leader's output and, when scaled, a scalar factor.
type secondaryOutput struct {
	NoGradient
	what   string
	result Signature
	scaled bool
}

func (k secondaryOutput) String() string { return fmt.Sprintf("%s %v", k.what, k.result.Shape) }

// bytes counts the scaling, which is in place: what is emitted alone, its leader wrote.
func (k secondaryOutput) bytes(c cost) int {
	if !k.scaled {
		return 0
	}
	return 2 * c.out().bytes()
}

func (k secondaryOutput) Infer([]Signature) (Signature, error) { return k.result, nil }

func (k secondaryOutput) Accumulates() bool { return !k.scaled }

func (k secondaryOutput) Run(c *Call) error {
	if !k.scaled {
		return nil
	}
	if c.Double() {
		return scaleInPlace[float64](c)
	}
	return scaleInPlace[float32](c)
}

func scaleInPlace[T kernel.Float](c *Call) error {
	if factor := In[T](c, 1)[0]; factor != 1 {
		State[kernel.Scale[T]](c).Run(c.Pool(), Out[T](c), Out[T](c), float64(factor))
	}
	return nil
}

// companion makes the companion node number i of leader, with the given shape. factor
// is a scalar node to multiply by, or nil.
func (b *Builder) companion(leader *gorgonia.Node, i int, what string, shape tensor.Shape, factor *gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	k := secondaryOutput{what: what, result: Signature{opOf(leader).in[0].DType, shape.Clone()}, scaled: factor != nil}
	if factor != nil {
		return b.follow(k, i, leader, factor)
	}
	return b.follow(k, i, leader)
}

// follow makes a node of kind k that is companion number i of leader: the leader's run
// fills its buffer.
func (b *Builder) follow(k Primitive, i int, leader *gorgonia.Node, others ...*gorgonia.Node) *gorgonia.Node {
	node := b.Apply(k, append(gorgonia.Nodes{leader}, others...)...)
	if node == nil {
		return nil
	}
	main := opOf(leader)
	opOf(node).leader = main
	for len(main.companions) <= i {
		main.companions = append(main.companions, nil)
	}
	main.companions[i] = opOf(node)
	return node
}
