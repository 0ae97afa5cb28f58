package graph

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// stockGraph collects the error of the stock Gorgonia functions that a test's graph uses.
type stockGraph struct{ err error }

func (s *stockGraph) node(n *gorgonia.Node, err error) *gorgonia.Node {
	if s.err == nil {
		s.err = err
	}
	return n
}

// caseGraph is an opCase's op in a graph.
type caseGraph struct {
	params gorgonia.Nodes // the op's float inputs
	output *gorgonia.Node // the op's result
	loss   *gorgonia.Node // a scalar made of it, nil for an op without a gradient
	tail   *gorgonia.Node // what stock nodes make of an output without a gradient
}

// graph builds the op with stock nodes on all sides: each float input passes an Add and two
// Reshapes, the output a Reshape and an Add (in either order), a HadamardProd and a Sum.
func (c opCase) graph(b *Builder) (caseGraph, error) {
	var g caseGraph
	var s stockGraph
	x, ids := c.inputs(b, &g, &s)
	g.output = c.build(b, x, ids)
	if b.Err() != nil {
		return g, b.Err()
	}
	shape := g.output.Shape()
	switch {
	case g.output.Dtype() == tensor.Int32:
		g.tail = s.node(gorgonia.Reshape(g.output, tensor.Shape{shape.TotalSize()}))
	case shape.Dims() == 0:
		factor := scalarInput(b, "factor", -1.7)
		g.loss = s.node(gorgonia.Mul(s.node(gorgonia.Add(g.output, factor)), factor))
	default:
		flat := tensor.Shape{shape.TotalSize()}
		y := g.output
		if c.addFirst {
			y = s.node(gorgonia.Reshape(s.node(gorgonia.Add(y, b.Input("shift", b.DType(), shape...))), flat))
		} else {
			y = s.node(gorgonia.Add(s.node(gorgonia.Reshape(y, flat)), b.Input("shift", b.DType(), flat...)))
		}
		g.tail = s.node(gorgonia.HadamardProd(y, b.Input("weights", b.DType(), flat...)))
		if !c.noGradient {
			g.loss = s.node(gorgonia.Sum(g.tail))
		}
	}
	return g, s.err
}

// inputs makes a case's parameters and Int32 inputs, with stock nodes behind them.
func (c opCase) inputs(b *Builder, g *caseGraph, s *stockGraph) (x, ids gorgonia.Nodes) {
	for i, shape := range c.floats {
		p := b.Param(ParamSpec{Name: fmt.Sprintf("x%d", i), Shape: shape, Init: Normal(1)})
		g.params = append(g.params, p)
		// The Add comes first: a stock Add behind a stock Reshape of an input writes into the input.
		moved := s.node(gorgonia.Add(p, b.Input(fmt.Sprintf("shift%d", i), b.DType(), shape...)))
		flat := s.node(gorgonia.Reshape(moved, tensor.Shape{p.Shape().TotalSize()}))
		x = append(x, s.node(gorgonia.Reshape(flat, tensor.Shape(shape))))
	}
	for i, in := range c.ints {
		flat := b.Input(fmt.Sprintf("ids%d", i), tensor.Int32, product(in.shape))
		ids = append(ids, s.node(gorgonia.Reshape(flat, tensor.Shape(in.shape))))
	}
	return x, ids
}

// machine runs a graph in one of the ways there are.
type machine struct {
	name   string
	store  *Store
	inputs map[string]*tensor.Dense
	run    func() error
	loss   func() float64
	output func() []float64
	grad   func(i int) []float64
}

// newProgram compiles a case as a Program, with shared or separate buffers.
func newProgram(t *testing.T, c opCase, store *Store, o ProgramOptions) *machine {
	t.Helper()
	var g caseGraph
	o.Options, o.Gradients = c.options(store.DType()), !c.noGradient
	o.Store = store
	p, err := Compile(o, func(b *Builder) (Roots, error) {
		var err error
		g, err = c.graph(b)
		outputs := gorgonia.Nodes{g.output}
		if g.loss == nil && g.tail != nil {
			outputs = append(outputs, g.tail)
		}
		return Roots{Loss: g.loss, Outputs: outputs}, err
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return &machine{name: fmt.Sprintf("Program separate=%t", o.Separate), store: store, inputs: p.inputs,
		run:    func() error { return p.Run(RunOptions{}) },
		loss:   func() float64 { return scalarOf(t, g.loss) },
		output: func() []float64 { return valuesOf(t, g.output.Value()) },
		grad:   func(i int) []float64 { return Float64s(store.Params()[i].Grad) }}
}

// newStock compiles a case the way an embedder does: gorgonia.Grad and a tape machine.
func newStock(t *testing.T, c opCase, store *Store) *machine {
	t.Helper()
	o := c.options(store.DType())
	o.Store = store
	b := On(gorgonia.NewGraph(), o)
	g, err := c.graph(b)
	require.NoError(t, err)
	var output gorgonia.Value
	gorgonia.Read(g.output, &output)
	var grads gorgonia.Nodes
	if g.loss != nil {
		grads, err = gorgonia.Grad(g.loss, g.params...)
		require.NoError(t, err)
	}
	m := &machine{name: "tape machine", store: store, inputs: letInputs(t, b)}
	vm := gorgonia.NewTapeMachine(b.g)
	t.Cleanup(func() { require.NoError(t, vm.Close()) })
	m.run = func() error { vm.Reset(); return vm.RunAll() }
	m.loss = func() float64 { return scalarOf(t, g.loss) }
	m.output = func() []float64 { return valuesOf(t, output) }
	m.grad = func(i int) []float64 { return valuesOf(t, grads[i].Value()) }
	return m
}

// letInputs binds a value to every input that b made.
func letInputs(t *testing.T, b *Builder) map[string]*tensor.Dense {
	t.Helper()
	inputs := map[string]*tensor.Dense{}
	for _, n := range b.inputs {
		value := zeroTensor(n)
		require.NoError(t, gorgonia.Let(n, value))
		inputs[n.Name()] = value
	}
	return inputs
}

// feed fills a machine's inputs with numbers that depend on the run and the name alone.
func (m *machine) feed(c opCase, run int) {
	for name, value := range m.inputs {
		h := fnv.New64a()
		fmt.Fprint(h, name)
		r := rand.New(rand.NewPCG(uint64(run), h.Sum64()))
		if value.Dtype() != tensor.Int32 {
			drawInto(value, r)
			continue
		}
		for i := range c.ints {
			if name == fmt.Sprintf("ids%d", i) {
				for j, ids := 0, value.Int32s(); j < len(ids); j++ {
					ids[j] = c.ints[i].draw(r, j)
				}
			}
		}
	}
}

func drawInto(value *tensor.Dense, r *rand.Rand) {
	if value.Dtype() == tensor.Float64 {
		fill(elements[float64](value), r.NormFloat64)
	} else {
		fill(elements[float32](value), r.NormFloat64)
	}
}

// floatsSeen returns what the op itself gets in this run: the parameter plus its shift.
func (m *machine) floatsSeen(c opCase) [][]float64 {
	var seen [][]float64
	for i := range c.floats {
		x := Float64s(m.store.Params()[i].Value)
		for j, v := range Float64s(m.inputs[fmt.Sprintf("shift%d", i)]) {
			x[j] += v
		}
		seen = append(seen, x)
	}
	return seen
}

func (m *machine) idsSeen(c opCase) [][]int32 {
	var seen [][]int32
	for i := range c.ints {
		seen = append(seen, m.inputs[fmt.Sprintf("ids%d", i)].Int32s())
	}
	return seen
}

func scalarOf(t *testing.T, n *gorgonia.Node) float64 {
	t.Helper()
	v, err := Scalar(n)
	require.NoError(t, err)
	return v
}

// valuesOf copies any value as float64.
func valuesOf(t *testing.T, v gorgonia.Value) []float64 {
	t.Helper()
	switch v := v.(type) {
	case *gorgonia.F32:
		return []float64{float64(*v)}
	case *gorgonia.F64:
		return []float64{float64(*v)}
	case *tensor.Dense:
		if v.Dtype() != tensor.Int32 {
			return Float64s(v)
		}
		var wide []float64
		for _, id := range v.Int32s() {
			wide = append(wide, float64(id))
		}
		return wide
	}
	require.FailNow(t, "no value", "%T", v)
	return nil
}

// scalarInput makes a stock scalar input with a value.
func scalarInput(b *Builder, name string, v float64) *gorgonia.Node {
	var value gorgonia.Value = gorgonia.NewF64(v)
	if b.DType() == tensor.Float32 {
		value = gorgonia.NewF32(float32(v))
	}
	return gorgonia.NewScalar(b.Graph(), b.DType(), gorgonia.WithName(name), gorgonia.WithValue(value))
}

func zeroTensor(n *gorgonia.Node) *tensor.Dense {
	return tensor.New(tensor.Of(n.Dtype()), tensor.WithShape(n.Shape()...))
}
