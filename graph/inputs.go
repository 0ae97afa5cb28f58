package graph

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/internal/memory"
)

// parameterNode is a stored parameter and its node.
type parameterNode struct {
	node  *gorgonia.Node
	param *Param
}

// Input makes an input node. Set its value by gorgonia.Let, or by name through a Program.
func (b *Builder) Input(name string, dt tensor.Dtype, shape ...int) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	if !b.reserveName(name) {
		return nil
	}
	err := wantPositive(shape)
	if err == nil {
		_, err = sizeOf(shape)
	}
	if err != nil {
		b.fail(errors.Wrapf(err, "graph: input %q", name))
		return nil
	}
	n := gorgonia.NewTensor(b.g, dt, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name))
	b.inputs = append(b.inputs, n)
	return n
}

// reserveName reserves a name: Gorgonia merges two inputs with the same name, type and shape, and
// silently drops the second one's value.
func (b *Builder) reserveName(name string) bool {
	if name == "" {
		b.fail(errors.New("graph: want a name for the input, got an empty one"))
		return false
	}
	for _, n := range b.g.AllNodes()[b.named:] { // other code also adds inputs to the graph
		if n.Op() == nil {
			b.names[n.Name()] = true
		}
	}
	b.named = len(b.g.AllNodes())
	if b.names[name] {
		b.fail(errors.Errorf("graph: the name %q is taken: Gorgonia would merge the two nodes; give each model of a graph its own name prefix", name))
		return false
	}
	b.names[name] = true
	return true
}

// Param makes a node of the parameter that p describes. Its values live in the Store: if the
// Store has a parameter of that name, it is shared; otherwise the Store's mode decides whether
// a new one is made (see Store).
func (b *Builder) Param(p ParamSpec) *gorgonia.Node { return b.param(p, false) }

// param makes the node. transposed says that the parameter lies transposed on the device, if there
// is one.
func (b *Builder) param(p ParamSpec, transposed bool) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	if made := b.shared(&p); made != nil || b.err != nil {
		return made
	}
	param, err := b.options.Store.ensure(p)
	if err != nil {
		b.fail(err)
		return nil
	}
	if !b.reserveName(p.Name) {
		return nil
	}
	node, err := b.paramNode(param, transposed)
	if err != nil {
		b.fail(err)
		return nil
	}
	b.params = append(b.params, &parameterNode{node: node, param: param})
	node = b.adapted(param, node)
	if b.share != nil {
		b.share.made[p.Name] = node
	}
	return node
}

// isParameter tells whether a node is one of the builder's parameters.
func (b *Builder) isParameter(n *gorgonia.Node) bool {
	return slices.ContainsFunc(b.params, func(p *parameterNode) bool { return p.node == n })
}

// paramNode makes an ordinary input on the CPU. On a device it makes an op without inputs, because
// the machine would upload an input in every run.
func (b *Builder) paramNode(p *Param, transposed bool) (*gorgonia.Node, error) {
	if b.OnDevice() {
		return b.residentNode(p, transposed)
	}
	options := []gorgonia.NodeConsOpt{gorgonia.WithShape(p.Shape...), gorgonia.WithName(p.Name)}
	if !b.planning() && p.Value != nil {
		if !p.largePages {
			memory.LargePages(dataOf(p.Value), int(p.Value.MemSize()))
			p.largePages = true
		}
		// Make a tensor of the graph's own around the Store's numbers: a tape machine sets the
		// engine of its inputs' tensors, possibly while another program over the Store runs.
		own := tensor.New(tensor.WithShape(p.Shape...), tensor.WithBacking(p.Value.Data()))
		options = append(options, gorgonia.WithValue(own))
	}
	return gorgonia.NewTensor(b.g, b.options.DType, len(p.Shape), options...), nil
}

// trained returns the parameters made so far that are not Frozen, in order.
func (b *Builder) trained() []*parameterNode {
	return slices.DeleteFunc(slices.Clone(b.params), func(p *parameterNode) bool { return p.param.Frozen })
}

// Learnables returns the nodes of all parameters made so far that are not Frozen, in order.
func (b *Builder) Learnables() gorgonia.Nodes {
	var nodes gorgonia.Nodes
	for _, p := range b.trained() {
		nodes = append(nodes, p.node)
	}
	return nodes
}
