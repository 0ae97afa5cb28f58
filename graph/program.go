package graph

import (
	"time"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ProgramOptions say what a Program is for.
type ProgramOptions struct {
	Options
	// Gradients makes the Program differentiate the loss with respect to every
	// parameter; the gradients lie in the Store.
	Gradients bool
	// Recompute trades time for memory in the backward pass; "" means none.
	Recompute Recompute
	// Separate gives every op memory of its own, for tests of the buffer plan.
	Separate bool
	// Memory is how many bytes the buffers may take on the CPU, with Gradients also those of
	// the gradients and of AdamW's moments; 0: what AvailableMemory returns.
	Memory int
}

// Roots are the nodes a Program is made for.
type Roots struct {
	Loss    *gorgonia.Node // a scalar; wanted with Gradients
	Outputs gorgonia.Nodes // values to be read after a run
}

// BuildFunc builds the forward graph.
type BuildFunc func(b *Builder) (Roots, error)

// Program is a compiled graph: what a trainer, an evaluator or a generator runs. Several
// Programs may share a Store; each has its own graph, arena and tape machine. A Program
// is not safe for concurrent use.
type Program struct {
	options ProgramOptions
	build   BuildFunc

	builder   *Builder
	roots     Roots
	forward   int            // nodes that the build function made
	gradients gorgonia.Nodes // one a parameter
	keepAlive *gorgonia.Node // reads, at the end, what stock ops could overwrite; or nil
	plan      *plan
	vm        gorgonia.VM
	inputs    map[string]*tensor.Dense
	tokens    int // that a cached program advances a row by
	runs      stopwatch
}

// stage is one step from a build function to a running machine.
type stage struct {
	name string
	run  func(*Program) error
}

const stageMemory = "memory" // before the first stage that takes memory

// stages lists them in order.
func stages() []stage {
	return []stage{
		{"build", (*Program).buildGraph},          // the model's own forward nodes
		{"differentiate", (*Program).addGradient}, // gradient nodes; recomputation puts copies before them
		{"keep", (*Program).keepAliveAtEnd},       // after all readers exist, before liveness is computed
		{"verify", (*Program).verify},             // no dead node, no two nodes of one hash: after all nodes exist
		{"plan", (*Program).planBuffers},          // liveness -> offsets in one arena
		{stageMemory, (*Program).checkMemory},     // is there room for the buffers: before they are made
		{"bind", (*Program).bind},                 // buffers to ops, values to inputs: before the machine copies engines
		{"compile", (*Program).compile},           // gorgonia.NewTapeMachine
	}
}

// Compile takes a build function through all stages.
func Compile(o ProgramOptions, build BuildFunc) (*Program, error) {
	if o.Recompute != "" && o.Recompute != RecomputeNone && o.Recompute != RecomputeBlock {
		return nil, errors.Errorf("graph: recompute: want %q or %q, got %q", RecomputeNone, RecomputeBlock, o.Recompute)
	}
	if build == nil {
		return nil, errors.New("graph: want a function that builds the graph, got nil")
	}
	if o.Cache != nil {
		if err := o.Cache.free(); err != nil {
			return nil, err
		}
	}
	p := &Program{options: o, build: build}
	for _, s := range stages() {
		if err := s.run(p); err != nil {
			p.Close()
			return nil, errors.Wrapf(err, "graph: %s", s.name)
		}
	}
	return p, nil
}

// hashTries bounds how often a graph is built anew after a 32-bit hash collision; at
// 1,600 nodes one build in 3,000 collides.
const hashTries = 4

func (p *Program) buildGraph() (err error) {
	if p.options.Store == nil {
		p.options.Store = NewStore(dtypeOr32(p.options.DType), p.options.Seed)
	}
	g := gorgonia.NewGraph()
	p.builder, p.keepAlive = On(g, p.options.Options), nil
	p.roots, err = p.build(p.builder)
	if err == nil {
		err = p.builder.Err()
	}
	if err != nil {
		return err
	}
	p.forward = len(g.AllNodes())
	return p.checkRoots()
}

func (p *Program) checkRoots() error {
	roots := append(gorgonia.Nodes(nil), p.roots.Outputs...)
	if p.roots.Loss != nil {
		roots = append(roots, p.roots.Loss)
	}
	if len(roots) == 0 {
		return errors.New("want a loss or an output, got neither")
	}
	for _, n := range roots {
		if n == nil || n.Graph() != p.builder.g {
			return errors.Errorf("loss and outputs: want nodes of the builder's graph, got %s", NameOf(n))
		}
	}
	return nil
}

func dtypeOr32(dt tensor.Dtype) tensor.Dtype {
	if dt == (tensor.Dtype{}) {
		return tensor.Float32
	}
	return dt
}

func (p *Program) addGradient() (err error) {
	if !p.options.Gradients {
		return nil
	}
	if p.roots.Loss == nil {
		return errors.New("want a loss to differentiate, got none")
	}
	p.gradients, err = differentiate(p.builder, p.roots.Loss, p.options.Recompute)
	return err
}

// verify checks what the tape machine relies on without checking it.
func (p *Program) verify() error {
	for _, n := range p.DeadNodes() {
		// A stock op differentiates with respect to all its inputs, wanted or not.
		if opOf(n) != nil || int(n.ID()) < p.forward {
			return errors.Errorf("node %q is read by nothing, yet would run every time", n.Name())
		}
	}
	hashes := map[uint32]bool{}
	for _, n := range p.builder.g.AllNodes() {
		if hashes[n.Hashcode()] {
			return p.rebuild(n)
		}
		hashes[n.Hashcode()] = true
	}
	return nil
}

// rebuild starts again with other hashes: Gorgonia takes nodes of one 32-bit hash for
// the same node. n has another's hash.
func (p *Program) rebuild(n *gorgonia.Node) error {
	p.options.salt++
	if p.options.salt >= hashTries {
		return errors.Errorf("node %q: want a hash of its own, got another node's in %d graphs in a row: change its name", n.Name(), hashTries)
	}
	if p.options.Cache != nil {
		p.options.Cache.layers = nil
	}
	if err := p.buildGraph(); err != nil {
		return err
	}
	if err := p.addGradient(); err != nil {
		return err
	}
	if err := p.keepAliveAtEnd(); err != nil {
		return err
	}
	return p.verify()
}

// liveAtEnd returns the nodes whose values outlive a run.
func (p *Program) liveAtEnd() gorgonia.Nodes {
	kept := append(gorgonia.Nodes(nil), p.roots.Outputs...)
	kept = append(kept, p.gradients...)
	kept = append(kept, p.builder.hooked...)
	for _, n := range []*gorgonia.Node{p.roots.Loss, p.keepAlive} {
		if n != nil {
			kept = append(kept, n)
		}
	}
	return kept
}

// DeadNodes returns the nodes that no output, loss or gradient needs. A tape machine
// runs every node of its graph, used or not.
func (p *Program) DeadNodes() gorgonia.Nodes {
	alive := map[*gorgonia.Node]bool{}
	for _, n := range ancestors(p.liveAtEnd()) {
		alive[n] = true
	}
	var dead gorgonia.Nodes
	for _, n := range p.builder.g.AllNodes() {
		if !alive[n] {
			dead = append(dead, n)
		}
	}
	return dead
}

func (p *Program) planBuffers() (err error) {
	p.plan, err = newPlan(p.builder.g, p.liveAtEnd())
	return err
}

func (p *Program) bind() error {
	if err := p.bindOutputs(); err != nil {
		return err
	}
	p.inputs = map[string]*tensor.Dense{}
	for _, n := range p.builder.inputs {
		value := tensor.New(tensor.Of(n.Dtype()), tensor.WithShape(n.Shape()...))
		if err := gorgonia.Let(n, value); err != nil {
			return errors.Wrapf(err, "input %q", n.Name())
		}
		p.inputs[n.Name()] = value
		if shape := n.Shape(); p.tokens == 0 && n.Dtype() == tensor.Int32 && len(shape) == 2 {
			p.tokens = shape[1]
		}
	}
	if p.options.Cache != nil && p.tokens == 0 {
		return errors.New("want an input of tokens, int32 [batch, seq], to count by in a cache, got none")
	}
	return nil
}

// bindOutputs gives outputs and gradients their memory.
func (p *Program) bindOutputs() error {
	if p.builder.onDevice() {
		return p.bindDevice()
	}
	if !p.options.Separate {
		p.plan.bind()
	}
	store := p.builder.options.Store
	for i, grad := range p.gradients {
		opOf(grad).buffer.bindTo(store.ensureGrad(p.builder.params[i].param))
	}
	return nil
}

func (p *Program) bindDevice() error {
	if !p.options.Separate {
		if err := p.plan.bindDevice(p.builder.runtime); err != nil {
			return err
		}
	}
	for i, grad := range p.gradients {
		a, err := p.builder.options.Store.residentGrad(p.builder.params[i].param)
		if err != nil {
			return err
		}
		opOf(grad).device = a
	}
	return nil
}

func (p *Program) compile() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("gorgonia: %v", r)
		}
	}()
	p.vm = gorgonia.NewTapeMachine(p.builder.g)
	return nil
}

// RunOptions say how one run differs from another.
type RunOptions struct {
	Accumulate bool   // add to the parameter gradients instead of replacing them
	Step       uint64 // training step, for dropout masks
	Profile    bool   // time the run and each op in it, for Program.Profile
}

// Run executes the program once. With a Cache it then moves past the tokens it was given.
func (p *Program) Run(o RunOptions) error {
	if p.vm == nil {
		return errors.New("graph: want an open program, got a closed one")
	}
	if c := p.options.Cache; c != nil {
		if err := c.room(p.tokens); err != nil {
			return err
		}
	}
	runtime := p.builder.runtime
	runtime.accumulate, runtime.step, runtime.profile = o.Accumulate, o.Step, o.Profile
	if o.Profile {
		defer p.runs.add(time.Now())
	}
	runtime.failure = nil
	p.vm.Reset()
	if err := p.vm.RunAll(); err != nil {
		if runtime.failure != nil {
			err = runtime.failure
		}
		return errors.Wrap(err, "graph: run")
	}
	if c := p.options.Cache; c != nil {
		c.advance(p.tokens)
	}
	return nil
}

// Close ends the program's workers.
func (p *Program) Close() {
	if p.vm != nil {
		_ = p.vm.Close()
		p.vm = nil
	}
	if p.builder == nil {
		return
	}
	p.builder.runtime.release()
	if p.builder.runtime.pool != nil {
		p.builder.runtime.pool.Close()
	}
}

// Ints returns the memory of an Int32 input, to be filled before a run; nil if there is
// no such input.
func (p *Program) Ints(name string) []int32 {
	if t := p.inputs[name]; t != nil && t.Dtype() == tensor.Int32 {
		return elements[int32](t)
	}
	return nil
}

// Input returns the tensor of an input, nil if there is no such input.
func (p *Program) Input(name string) *tensor.Dense { return p.inputs[name] }

// Store returns where the parameters live.
func (p *Program) Store() *Store { return p.builder.options.Store }

// Builder returns the builder behind the program's graph.
func (p *Program) Builder() *Builder { return p.builder }

// Roots returns what the build function returned.
func (p *Program) Roots() Roots { return p.roots }

// Hooked returns the value that the hook of that name saw in the last run.
func (p *Program) Hooked(name string) (*tensor.Dense, error) {
	for _, n := range p.builder.hooked {
		if opOf(n).Primitive.(hook).name == name {
			if t, err := Value(n); err == nil {
				return t, nil
			}
		}
	}
	return nil, errors.Errorf("graph: hook %q: want a name that Options.Hooks lists and the model has, after a run", name)
}
