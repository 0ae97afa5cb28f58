package graph

import (
	"runtime"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Device names what the ops run on.
type Device string

// CPU runs ops on the processor's cores, and is the default.
const CPU Device = "cpu"

// Options say how a Builder makes its nodes. The zero value is ready: float32 on the
// CPU with all threads, parameters in a fresh Store, no hooks, no cache.
type Options struct {
	// Threads is the number of workers an op, at most MaxThreads; 0: runtime.GOMAXPROCS(0). Each sums the
	// gradient of its own tokens: with another number results agree up to rounding only.
	Threads int
	Device  Device // where ops run, CPU or CUDA; "": CPU
	// Precision is that of a CUDA device; "": TF32. All builders of a Store have the same.
	Precision Precision
	DType     tensor.Dtype // Float32 or Float64 (checks only); unset: Float32
	Store     *Store       // where parameters live; nil: a new one
	Hooks     Hooks        // named activations to watch or replace
	Cache     *Cache       // keys and values of earlier tokens, for generation
	Training  bool         // dropout is active
	Seed      uint64       // of the dropout masks

	salt int // changes every op's hash; Program's answer to a hash collision
}

// Builder makes nodes in one Gorgonia graph. After the first error it makes nothing
// more and returns nil nodes; Err tells what went wrong.
type Builder struct {
	g       *gorgonia.ExprGraph
	options Options
	runtime *runState
	err     error
	params  []*parameterNode
	inputs  []*gorgonia.Node
	sites   int           // dropout sites so far
	blocks  map[int64]int // node id -> recomputation block
	block   int           // current recomputation block, 0: none

	blockCount int
	names      map[string]bool  // names of inputs and parameters
	hooked     []*gorgonia.Node // hook nodes, for Program to keep

	hookNames   []string // names that Hook and Hooked were called with
	activations []Activation

	// implicitLossGradient stands for the gradient of the loss with respect to itself while Program
	// differentiates. It is in no graph; an op that reads it gets a node for it (Builder.lossGradient).
	implicitLossGradient, loss *gorgonia.Node
}

// parameterNode ties a node to the stored parameter behind it.
type parameterNode struct {
	node  *gorgonia.Node
	param *Param
}

// runState is what ops need to know while they run. A Program sets it before a run.
type runState struct {
	pool       *kernel.Pool
	threads    int
	accumulate bool   // parameter gradients add to what is there
	step       uint64 // training step, for dropout masks
	profile    bool   // ops time themselves
	failure    error  // of an op; the tape machine wraps it in its registers and counters

	device accelerator  // nil on the CPU
	owned  []cuda.Array // device memory of ops, beside the arena
}

func (r *runState) workers() *kernel.Pool {
	if r.pool == nil {
		r.pool = kernel.NewPool(r.threads)
	}
	return r.pool
}

// On returns a Builder on g. Several Builders may work on one graph.
func On(g *gorgonia.ExprGraph, o Options) *Builder {
	b := &Builder{g: g, options: o, blocks: map[int64]int{}, names: map[string]bool{}}
	if o.Threads <= 0 {
		b.options.Threads = runtime.GOMAXPROCS(0)
	}
	if o.DType == (tensor.Dtype{}) {
		b.options.DType = tensor.Float32
	}
	if o.Device == "" {
		b.options.Device = CPU
	}
	b.runtime = &runState{threads: b.options.Threads}
	b.check()
	if o.Store == nil && b.err == nil {
		b.options.Store = NewStore(b.options.DType, o.Seed)
	}
	b.openDevice()
	return b
}

// openDevice gets the Store's device, if the ops run on one.
func (b *Builder) openDevice() {
	if b.err != nil || !b.onDevice() || b.planning() {
		return
	}
	if err := b.options.Store.open(b.options.Precision); err != nil {
		b.fail(err)
		return
	}
	b.runtime.device = b.options.Store.device
}

// planning tells that the graph will not run: its Store has no values.
func (b *Builder) planning() bool { return b.options.Store != nil && b.options.Store.mode == plans }

// MaxThreads bounds Options.Threads: more than the processors of one machine.
const MaxThreads = 1024

func (b *Builder) check() {
	switch {
	case b.g == nil:
		b.fail(errors.New("graph: want a graph to build on, got nil: make one with gorgonia.NewGraph()"))
	case b.options.DType != tensor.Float32 && b.options.DType != tensor.Float64:
		b.fail(errors.Errorf("graph: dtype: want float32 or float64, got %v", b.options.DType))
	case b.options.Threads > MaxThreads:
		b.fail(errors.Errorf("graph: threads: want at most %d, got %d", MaxThreads, b.options.Threads))
	case b.options.Device != CPU && b.options.Device != CUDA:
		b.fail(errors.Errorf("graph: device: want %q or %q, got %q", CPU, CUDA, b.options.Device))
	case b.options.checkPrecision() != nil:
		b.fail(b.options.checkPrecision())
	case b.options.Store != nil && b.options.Store.dtype != b.options.DType:
		b.fail(errors.Errorf("graph: dtype: the store holds %v, want %v as the graph", b.options.Store.dtype, b.options.DType))
	}
}

// Err returns the first error, or nil.
func (b *Builder) Err() error { return b.err }

// Fail records an error of whoever builds with b, unless there is one already.
func (b *Builder) Fail(err error) { b.fail(err) }

func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Graph returns the graph that b builds on.
func (b *Builder) Graph() *gorgonia.ExprGraph { return b.g }

// Store returns where b's parameters live.
func (b *Builder) Store() *Store { return b.options.Store }

// DType returns the element type of parameters and activations.
func (b *Builder) DType() tensor.Dtype { return b.options.DType }

// Cache returns the cache of Options, nil without one.
func (b *Builder) Cache() *Cache { return b.options.Cache }

// Training tells whether dropout is active.
func (b *Builder) Training() bool { return b.options.Training }

// SetStep tells the dropouts of b's graph which training step they are at, so that each
// step has masks of its own. A Program does so by RunOptions.Step; call it yourself
// between runs of a stock tape machine.
func (b *Builder) SetStep(step uint64) { b.runtime.step = step }

// Seed returns that of the dropout masks.
func (b *Builder) Seed() uint64 { return b.options.Seed }

// DropoutSite numbers the places of the graph that draw at random, from 1.
func (b *Builder) DropoutSite() uint32 {
	b.sites++
	return uint32(b.sites)
}

// Block marks the nodes that body makes as one unit of recomputation: a Program that
// recomputes keeps only what flows into and out of the block and rebuilds the rest in
// the backward pass.
func (b *Builder) Block(body func()) {
	outer := b.block
	b.blockCount++
	b.block = b.blockCount
	body()
	b.block = outer
}

// Apply makes a node of a Primitive over nodes of the builder's graph. What Infer complains of
// becomes the builder's error (Err), and the node nil. A Primitive that has no CUDA form is refused
// by name where the builder's device is CUDA.
func (b *Builder) Apply(k Primitive, children ...*gorgonia.Node) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	node, err := b.newNode(k, children)
	if err != nil {
		b.fail(errors.Wrapf(err, "graph: %s", k))
		return nil
	}
	return node
}

func (b *Builder) newNode(k Primitive, children []*gorgonia.Node) (*gorgonia.Node, error) {
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
	op, err := newOp(b, k, sigs)
	if err != nil {
		return nil, err
	}
	for _, c := range children {
		op.producers = append(op.producers, opOf(c))
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

// graphOp is what the graph's node holds: the op, or what runs it on a device. A node
// whose op can run on a device never runs on the CPU.
func (b *Builder) graphOp(op *Op) (gorgonia.Op, error) {
	if b.onDevice() && !b.planning() {
		return b.onDeviceOp(op)
	}
	return op, nil
}

// Input makes an input node. Bind its value with gorgonia.Let, or by name through a
// Program.
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

// reserveName reserves a name: Gorgonia merges two inputs of one name, type and shape, and
// silently drops the second one's value.
func (b *Builder) reserveName(name string) bool {
	if name == "" {
		b.fail(errors.New("graph: want a name for the input, got an empty one"))
		return false
	}
	if b.names[name] || len(b.g.ByName(name)) > 0 {
		b.fail(errors.Errorf("graph: the name %q is taken: Gorgonia would merge the two nodes; give each model of a graph its own name prefix", name))
		return false
	}
	b.names[name] = true
	return true
}

// Param makes a node of the parameter that p describes. Its values live in the Store:
// a parameter of that name is shared, a new one is initialised, or refused by a Store that
// serves.
func (b *Builder) Param(p ParamSpec) *gorgonia.Node {
	if b.err != nil {
		return nil
	}
	param, err := b.options.Store.ensure(p)
	if err != nil {
		b.fail(err)
		return nil
	}
	if !b.reserveName(p.Name) {
		return nil
	}
	node, err := b.paramNode(param)
	if err != nil {
		b.fail(err)
		return nil
	}
	b.params = append(b.params, &parameterNode{node: node, param: param})
	return node
}

// paramNode is an ordinary input on the CPU; on a device it is an op without inputs, since
// an input would be copied up in every run.
func (b *Builder) paramNode(p *Param) (*gorgonia.Node, error) {
	if b.onDevice() {
		return b.residentNode(p)
	}
	options := []gorgonia.NodeConsOpt{gorgonia.WithShape(p.Shape...), gorgonia.WithName(p.Name)}
	if !b.planning() {
		options = append(options, gorgonia.WithValue(p.Value))
	}
	return gorgonia.NewTensor(b.g, b.options.DType, len(p.Shape), options...), nil
}

// Learnables returns the nodes of all parameters made so far, in order, each named.
func (b *Builder) Learnables() gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(b.params))
	for i, p := range b.params {
		nodes[i] = p.node
	}
	return nodes
}
