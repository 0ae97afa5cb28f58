package graph

import (
	"runtime"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Builder makes nodes in one Gorgonia graph. After the first error it makes nothing
// more and returns nil nodes; Err tells what went wrong.
type Builder struct {
	g       *gorgonia.ExprGraph
	options Options
	runtime *runState
	err     error
	params  []*parameterNode
	inputs  []*gorgonia.Node
	sites   int           // dropout sites made so far
	blocks  map[int64]int // node id -> recomputation block
	block   int           // current recomputation block, 0: none

	blockCount int
	cacheParts int              // parts of the Cache that ops have taken so far
	names      map[string]bool  // names of the graph's inputs, parameters included
	share      *sharing         // nil: each parameter keeps the name that it is requested by
	named      int              // nodes of the graph whose names are in names already
	hooked     []*gorgonia.Node // hook nodes, whose values Program keeps

	hookNames   []string        // the names that Hook and Hooked were called with, in order
	hookKnown   map[string]bool // the same names, as a set
	activations []Activation
	common      map[string]any // see Common

	// implicitLossGradient stands for the gradient of the loss with respect to itself while Program
	// differentiates. It is in no graph; an op that reads it gets a node for it
	// (Builder.lossGradient).
	implicitLossGradient, loss *gorgonia.Node
}

// On returns a Builder that adds to g. Several Builders may work on one graph.
func On(g *gorgonia.ExprGraph, o Options) *Builder {
	b := &Builder{g: g, options: o, blocks: map[int64]int{}, names: map[string]bool{}, hookKnown: map[string]bool{}}
	if o.Threads <= 0 {
		b.options.Threads = runtime.GOMAXPROCS(0)
	}
	if o.DType == (tensor.Dtype{}) {
		b.options.DType = tensor.Float32
	}
	if o.Device == "" {
		b.options.Device = CPU
	}
	b.runtime = &runState{threads: b.options.Threads, simulate: b.options.Simulate, context: o.Context}
	b.check()
	if o.Store == nil && b.err == nil {
		b.options.Store = NewStore(b.options.DType, o.Seed)
	}
	b.openDevice()
	return b
}

// openDevice gets the Store's device if the ops run on one.
func (b *Builder) openDevice() {
	if b.err != nil || !b.OnDevice() || b.planning() && !b.options.Store.OnDevice() {
		return
	}
	if err := b.options.Store.open(b.options.Device, b.options.Precision); err != nil {
		b.fail(err)
		return
	}
	b.runtime.device = b.options.Store.device
}

// planning tells whether the graph will never run, because its Store holds no values.
func (b *Builder) planning() bool { return b.options.Store != nil && b.options.Store.mode == plans }

// Err returns the first error, or nil.
func (b *Builder) Err() error { return b.err }

// Fail records an error found by the code that builds with b, unless b has one already.
func (b *Builder) Fail(err error) { b.fail(err) }

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Graph returns the graph that b builds on.
func (b *Builder) Graph() *gorgonia.ExprGraph { return b.g }

// Store returns the Store that holds b's parameters.
func (b *Builder) Store() *Store { return b.options.Store }

// DType returns the element type of parameters and activations.
func (b *Builder) DType() tensor.Dtype { return b.options.DType }

// Cache returns the cache of the options, nil if there is none.
func (b *Builder) Cache() *Cache { return b.options.Cache }

// Training tells whether dropout is active.
func (b *Builder) Training() bool { return b.options.Training }

// SetStep sets the training step for the dropouts of b's graph: each step draws other masks. A
// Program does this by RunOptions.Step; call SetStep yourself between runs of a stock tape machine.
func (b *Builder) SetStep(step uint64) { b.runtime.step = step }

// Seed returns the seed of the dropout masks.
func (b *Builder) Seed() uint64 { return b.options.Seed }

// DropoutSite returns the next number, from 1, for a place of the graph that draws random numbers.
func (b *Builder) DropoutSite() uint32 {
	b.sites++
	return uint32(b.sites)
}

// Block marks the nodes that body makes as one unit of recomputation. A Program that recomputes
// keeps only the values that enter and leave the block, and computes the block's other values again
// in the backward pass.
func (b *Builder) Block(body func()) {
	outer := b.block
	b.blockCount++
	b.block = b.blockCount
	body()
	b.block = outer
}

// Apply makes a node that computes k from the given nodes of the builder's graph. If Infer returns
// an error, it becomes the builder's error (Err) and the node is nil. On a CUDA device, a Primitive
// without a Launch method is refused by name.
func (b *Builder) Apply(k Primitive, children ...*gorgonia.Node) *gorgonia.Node {
	return b.apply(k, nil, children)
}

// apply makes the node for Apply. Its signature is like, or the one that Infer returns if like
// is nil.
func (b *Builder) apply(k Primitive, like *Signature, children []*gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	node, err := b.newNode(k, like, children)
	if err != nil {
		b.fail(errors.Wrapf(err, "graph: %s", k))
		return nil
	}
	return node
}

func (b *Builder) newNode(k Primitive, like *Signature, children []*gorgonia.Node) (*gorgonia.Node, error) {
	if err := b.runtime.interrupted(); err != nil {
		return nil, err
	}
	sigs := make([]Signature, len(children))
	for i, c := range children {
		if c != nil && c == b.implicitLossGradient {
			c = b.lossGradient(b.loss)
			children[i] = c
		}
		switch {
		case c == nil:
			return nil, errors.Errorf("input %d: want a node, got nil", i)
		case c.Graph() != b.g:
			return nil, errors.Errorf("input %d: node %q belongs to another graph", i, c.Name())
		}
		sigs[i] = SignatureOf(c)
	}
	op, err := newOp(b, k, like, sigs)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		op.producers, op.parameters = append(op.producers, opOf(c)), append(op.parameters, b.halves() && b.isParameter(c))
	}
	carrier, err := b.graphOp(op)
	if err != nil {
		return nil, err
	}
	node, err := gorgonia.ApplyOp(carrier, children...)
	if err != nil {
		return nil, err
	}
	if opOf(node) != op {
		return nil, errors.Errorf("node hash collides with that of %q", node.Name())
	}
	if b.block > 0 {
		b.blocks[node.ID()] = b.block
	}
	return node, nil
}

// graphOp returns the operation of the graph's node: op, or a wrapper that runs it on a device. A
// node with such a wrapper never runs on the CPU.
func (b *Builder) graphOp(op *Op) (gorgonia.Op, error) {
	if b.OnDevice() && !b.planning() {
		return b.onDeviceOp(op)
	}
	return op, nil
}
