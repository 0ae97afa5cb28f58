package optest

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// StockGraph collects the error of the stock Gorgonia functions that a test's graph uses.
type StockGraph struct{ Err error }

func (s *StockGraph) Node(n *gorgonia.Node, err error) *gorgonia.Node {
	if s.Err == nil {
		s.Err = err
	}
	return n
}

// caseGraph is a graph around the op of a case.
type caseGraph struct {
	params gorgonia.Nodes // the op's float inputs
	output *gorgonia.Node // the op's result
	Loss   *gorgonia.Node // a scalar computed from it; nil for an op without a gradient
	tail   *gorgonia.Node // the output of stock nodes after an output without a gradient
}

// Graph builds the op between stock nodes: each float input passes through an Add and two Reshapes,
// the output through a Reshape and an Add (in either order), a HadamardProd and a Sum.
func (c Case) Graph(b *graph.Builder) (caseGraph, error) {
	var g caseGraph
	var s StockGraph
	x, ids := c.inputs(b, &g, &s)
	g.output = c.Build(b, x, ids)
	if b.Err() != nil {
		return g, b.Err()
	}
	shape := g.output.Shape()
	switch {
	case g.output.Dtype() == tensor.Int32:
		g.tail = s.Node(gorgonia.Reshape(g.output, tensor.Shape{shape.TotalSize()}))
	case shape.Dims() == 0:
		factor := scalarInput(b, "factor", -1.7)
		g.Loss = s.Node(gorgonia.Mul(s.Node(gorgonia.Add(g.output, factor)), factor))
	default:
		flat := tensor.Shape{shape.TotalSize()}
		y := g.output
		if c.addFirst {
			y = s.Node(gorgonia.Reshape(s.Node(gorgonia.Add(y, b.Input("shift", b.DType(), shape...))), flat))
		} else {
			y = s.Node(gorgonia.Add(s.Node(gorgonia.Reshape(y, flat)), b.Input("shift", b.DType(), flat...)))
		}
		g.tail = s.Node(gorgonia.HadamardProd(y, b.Input("weights", b.DType(), flat...)))
		if !c.NoGradient {
			g.Loss = s.Node(gorgonia.Sum(g.tail))
		}
	}
	return g, s.Err
}

// inputs makes a case's parameters and Int32 inputs, followed by stock nodes.
func (c Case) inputs(b *graph.Builder, g *caseGraph, s *StockGraph) (x, ids gorgonia.Nodes) {
	for i, shape := range c.Floats {
		p := c.param(b, i)
		g.params = append(g.params, p)
		// The Add comes first: a stock Add after a stock Reshape of an input writes into the input.
		moved := s.Node(gorgonia.Add(p, b.Input(fmt.Sprintf("shift%d", i), b.DType(), shape...)))
		flat := s.Node(gorgonia.Reshape(moved, tensor.Shape{p.Shape().TotalSize()}))
		x = append(x, s.Node(gorgonia.Reshape(flat, tensor.Shape(shape))))
	}
	for i, in := range c.Ints {
		flat := b.Input(fmt.Sprintf("ids%d", i), tensor.Int32, Product(in.Shape))
		ids = append(ids, s.Node(gorgonia.Reshape(flat, tensor.Shape(in.Shape))))
	}
	return x, ids
}

// Machine runs a graph, as a Program or on a stock tape machine.
type Machine struct {
	name   string
	store  *graph.Store
	inputs map[string]*tensor.Dense
	Run    func() error
	Loss   func() float64
	output func() []float64
	grad   func(i int) []float64
}

// NewProgram compiles a case as a Program, with shared or separate buffers.
func NewProgram(t *testing.T, c Case, store *graph.Store, o graph.ProgramOptions) *Machine {
	t.Helper()
	var g caseGraph
	o.Options, o.Gradients = c.Options(store.DType()), !c.NoGradient
	o.Store = store
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		var err error
		g, err = c.Graph(b)
		outputs := gorgonia.Nodes{g.output}
		if g.Loss == nil && g.tail != nil {
			outputs = append(outputs, g.tail)
		}
		return graph.Roots{Loss: g.Loss, Outputs: outputs}, err
	})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return &Machine{name: fmt.Sprintf("Program separate=%t", o.Separate), store: store, inputs: inputsOf(p.Builder().Graph(), p.Input),
		Run:    func() error { return p.Run(graph.RunOptions{}) },
		Loss:   func() float64 { return ScalarOf(t, g.Loss) },
		output: func() []float64 { return ValuesOf(t, g.output.Value()) },
		grad:   func(i int) []float64 { return graph.Float64s(store.Params()[i].Grad) }}
}

// newStock compiles a case as a user of Gorgonia would: with gorgonia.Grad and a tape machine.
func newStock(t *testing.T, c Case, store *graph.Store) *Machine {
	t.Helper()
	o := c.Options(store.DType())
	o.Store = store
	b := graph.On(gorgonia.NewGraph(), o)
	g, err := c.Graph(b)
	require.NoError(t, err)
	var output gorgonia.Value
	gorgonia.Read(g.output, &output)
	var grads gorgonia.Nodes
	if g.Loss != nil {
		grads, err = gorgonia.Grad(g.Loss, g.params...)
		require.NoError(t, err)
	}
	m := &Machine{name: "tape machine", store: store, inputs: LetInputs(t, b)}
	vm := gorgonia.NewTapeMachine(b.Graph())
	t.Cleanup(func() { require.NoError(t, vm.Close()) })
	m.Run = func() error { vm.Reset(); return vm.RunAll() }
	m.Loss = func() float64 { return ScalarOf(t, g.Loss) }
	m.output = func() []float64 { return ValuesOf(t, output) }
	m.grad = func(i int) []float64 { return ValuesOf(t, grads[i].Value()) }
	return m
}

// LetInputs gives a value to every input that b made.
func LetInputs(t *testing.T, b *graph.Builder) map[string]*tensor.Dense {
	t.Helper()
	inputs := map[string]*tensor.Dense{}
	for _, n := range b.Graph().Inputs() {
		if n.Value() != nil { // a parameter has one already
			continue
		}
		value := zeroTensor(n)
		require.NoError(t, gorgonia.Let(n, value))
		inputs[n.Name()] = value
	}
	return inputs
}

// inputsOf returns the tensors of the inputs that a Program's build function made.
func inputsOf(g *gorgonia.ExprGraph, input func(string) *tensor.Dense) map[string]*tensor.Dense {
	inputs := map[string]*tensor.Dense{}
	for _, n := range g.Inputs() {
		if value := input(n.Name()); value != nil {
			inputs[n.Name()] = value
		}
	}
	return inputs
}

// Feed fills a machine's inputs with numbers that depend only on the run and the input's name.
func (m *Machine) Feed(c Case, run int) {
	for name, value := range m.inputs {
		h := fnv.New64a()
		fmt.Fprint(h, name)
		r := rand.New(rand.NewPCG(uint64(run), h.Sum64()))
		if value.Dtype() != tensor.Int32 {
			DrawInto(value, r)
			continue
		}
		for i := range c.Ints {
			if name == fmt.Sprintf("ids%d", i) {
				for j, ids := 0, value.Int32s(); j < len(ids); j++ {
					ids[j] = c.Ints[i].Draw(r, j)
				}
			}
		}
	}
}

func DrawInto(value *tensor.Dense, r *rand.Rand) {
	if value.Dtype() == tensor.Float64 {
		Fill(value.Float64s(), r.NormFloat64)
	} else {
		Fill(value.Float32s(), r.NormFloat64)
	}
}

// FloatsSeen returns the values that the op's inputs have in this run: the parameters plus their
// shifts.
func (m *Machine) FloatsSeen(c Case) [][]float64 {
	var seen [][]float64
	for i := range c.Floats {
		x := graph.Float64s(m.store.Params()[i].Value)
		for j, v := range graph.Float64s(m.inputs[fmt.Sprintf("shift%d", i)]) {
			x[j] += v
		}
		seen = append(seen, x)
	}
	return seen
}

func (m *Machine) idsSeen(c Case) [][]int32 {
	var seen [][]int32
	for i := range c.Ints {
		seen = append(seen, m.inputs[fmt.Sprintf("ids%d", i)].Int32s())
	}
	return seen
}

func ScalarOf(t *testing.T, n *gorgonia.Node) float64 {
	t.Helper()
	v, err := graph.Scalar(n)
	require.NoError(t, err)
	return v
}

// ValuesOf copies a value of any kind as float64.
func ValuesOf(t *testing.T, v gorgonia.Value) []float64 {
	t.Helper()
	switch v := v.(type) {
	case *gorgonia.F32:
		return []float64{float64(*v)}
	case *gorgonia.F64:
		return []float64{float64(*v)}
	case *tensor.Dense:
		if v.Dtype() != tensor.Int32 {
			return graph.Float64s(v)
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
func scalarInput(b *graph.Builder, name string, v float64) *gorgonia.Node {
	var value gorgonia.Value = gorgonia.NewF64(v)
	if b.DType() == tensor.Float32 {
		value = gorgonia.NewF32(float32(v))
	}
	return gorgonia.NewScalar(b.Graph(), b.DType(), gorgonia.WithName(name), gorgonia.WithValue(value))
}

func zeroTensor(n *gorgonia.Node) *tensor.Dense {
	return tensor.New(tensor.Of(n.Dtype()), tensor.WithShape(n.Shape()...))
}

func Fill[T float32 | float64](data []T, next func() float64) {
	for i := range data {
		data[i] = T(next())
	}
}

// Product multiplies the sizes of a shape.
func Product(axes []int) int { return tensor.Shape(axes).TotalSize() }

// SameResults requires that two machines of a case compute the same bits, and gradients that differ
// by the order of sums alone.
func SameResults(t *testing.T, c Case, one, other *Machine) {
	t.Helper()
	for _, m := range []*Machine{one, other} {
		m.Feed(c, 1)
		require.NoError(t, m.Run())
	}
	require.True(t, slices.Equal(one.output(), other.output()), "the outputs differ")
	for i := range c.Floats {
		want, got := other.grad(i), one.grad(i)
		require.Less(t, floats.Distance(want, got, math.Inf(1)), 1e-12*(1+floats.Norm(want, math.Inf(1))), "input %d", i)
	}
}
