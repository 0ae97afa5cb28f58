package graph

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ProgramOptions say what a Program computes and how.
type ProgramOptions struct {
	Options
	// Gradients makes the Program differentiate the loss with respect to every parameter; the
	// gradients are written to the Store.
	Gradients bool
	// HookGradients makes the Program differentiate the loss with respect to every hooked
	// activation instead of the parameters: HookGradient returns the gradients.
	HookGradients bool
	// Recompute trades time for memory in the backward pass; "" means none.
	Recompute Recompute
	// Separate gives every op its own memory, for tests of the buffer plan.
	Separate bool
	// Memory is the number of bytes that the buffers may take on the CPU, with Gradients also the
	// gradients and the optimizer's moments; 0: what AvailableMemory returns.
	Memory int
	// Moments returns how many moments the optimizer keeps for a parameter; nil: two, as AdamW
	// does.
	Moments func(*Param) int
	// Ranks is how many ranks share the moments, each with a part of them; 0: 1.
	Ranks int
}

// Roots are the nodes that a Program computes.
type Roots struct {
	Loss    *gorgonia.Node // a scalar; required with Gradients
	Outputs gorgonia.Nodes // values to read after a run
}

// BuildFunc builds the forward graph.
type BuildFunc func(b *Builder) (Roots, error)

// Program is a compiled graph, which a trainer, an evaluator or a generator runs. Several Programs
// may share a Store; each has its own graph, arena and tape machine. A Program is not safe for
// concurrent use.
type Program struct {
	options ProgramOptions
	build   BuildFunc

	builder   *Builder
	roots     Roots
	forward   int            // number of nodes that the build function made
	gradients gorgonia.Nodes // one for each parameter
	ofHooks   gorgonia.Nodes // with HookGradients: one for each hook, nil if the loss does not depend on it
	keepAlive *gorgonia.Node // reads, at the end, what stock ops could overwrite; may be nil
	plan      *plan
	vm        gorgonia.VM
	inputs    map[string]*tensor.Dense
	rows      int  // with a Cache: rows of tokens
	tokens    int  // tokens in a row
	cached    bool // the Cache counts it as an open program
	runs      stopwatch
	kernels   map[string]KernelProfile // by name
	replays   replays
}

// stage is one step from a build function to a running machine.
type stage struct {
	name string
	run  func(*Program) error
}

const stageMemory = "memory" // the first stage that takes memory follows

// stages lists the stages in order.
func stages() []stage {
	return []stage{
		{"build", (*Program).buildGraph},          // makes the model's forward nodes
		{"weights", (*Program).convertWeights},    // stores parameters in fewer bits
		{"differentiate", (*Program).addGradient}, // makes gradient nodes; recomputation puts copies before them
		{"keep", (*Program).keepAliveAtEnd},       // needs all readers to exist, comes before liveness is computed
		{"verify", (*Program).verify},             // checks that no node is dead and no two share a hash; needs all nodes to exist
		{"plan", (*Program).planBuffers},          // computes liveness and the offsets in one arena
		{stageMemory, (*Program).checkMemory},     // checks that there is room for the buffers, before they are made
		{"bind", (*Program).bind},                 // gives buffers to ops and values to inputs, before the machine copies engines
		{"compile", (*Program).compile},           // calls gorgonia.NewTapeMachine
	}
}

// Compile builds a graph by the build function and takes it through all stages to a Program.
func Compile(o ProgramOptions, build BuildFunc) (*Program, error) {
	if !slices.Contains([]Recompute{"", RecomputeNone, RecomputeCheap, RecomputeBlock}, o.Recompute) {
		return nil, errors.Errorf("graph: recompute: want %q, %q or %q, got %q", RecomputeNone, RecomputeCheap, RecomputeBlock, o.Recompute)
	}
	if build == nil {
		return nil, errors.New("graph: want a function that builds the graph, got nil")
	}
	p := &Program{options: o, build: build, kernels: map[string]KernelProfile{}}
	for _, s := range stages() {
		if err := p.stage(s); err != nil {
			p.Close()
			if o.Cache != nil {
				o.Cache.forget()
			}
			return nil, err
		}
	}
	return p, nil
}

// plannedStages runs the stages that need no memory.
func (p *Program) plannedStages() error {
	for _, s := range stages() {
		if s.name == stageMemory {
			break
		}
		if err := p.stage(s); err != nil {
			return err
		}
	}
	return nil
}

// stage runs one stage, unless the program's context has ended.
func (p *Program) stage(s stage) error {
	var err error
	if p.options.Context != nil {
		err = p.options.Context.Err()
	}
	if err == nil {
		err = s.run(p)
	}
	return errors.Wrapf(err, "graph: %s", s.name)
}

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
	switch o := p.options; {
	case !o.Gradients && !o.HookGradients:
		return nil
	case o.Gradients && o.HookGradients:
		return errors.New("want gradients of parameters or of hooks, got both")
	case p.roots.Loss == nil:
		return errors.New("want a loss to differentiate, got none")
	case o.HookGradients:
		p.ofHooks, err = differentiateHooks(p.builder, p.roots.Loss)
	default:
		p.gradients, err = differentiate(p.builder, p.roots.Loss, o.Recompute)
	}
	return err
}

// Ints returns the memory of an Int32 input, to be filled before a run; nil if there is no such
// input.
func (p *Program) Ints(name string) []int32 {
	if t := p.inputs[name]; t != nil && t.Dtype() == tensor.Int32 {
		return elements[int32](t)
	}
	return nil
}

// Input returns the tensor of an input, nil if there is no such input.
func (p *Program) Input(name string) *tensor.Dense { return p.inputs[name] }

// Store returns the Store that holds the parameters.
func (p *Program) Store() *Store { return p.builder.options.Store }

// Builder returns the builder of the program's graph.
func (p *Program) Builder() *Builder { return p.builder }

// Roots returns what the build function returned.
func (p *Program) Roots() Roots { return p.roots }

// HookGradient returns the gradient of the loss, in the last run, with respect to the output of the
// named hook: all 0 if the loss does not depend on it.
func (p *Program) HookGradient(name string) (*tensor.Dense, error) {
	for i, n := range p.builder.hooked {
		switch {
		case i >= len(p.ofHooks) || opOf(n).Primitive.(hook).name != name:
		case p.ofHooks[i] == nil:
			return tensor.New(tensor.Of(n.Dtype()), tensor.WithShape(n.Shape()...)), nil
		default:
			return Value(p.ofHooks[i])
		}
	}
	return nil, errors.Errorf("graph: hook %q: want one that Options.Hooks lists, of a program with HookGradients, after a run", name)
}

// Hooked returns the value that the named hook saw in the last run.
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
