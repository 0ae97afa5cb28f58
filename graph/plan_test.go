package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// randomGraph draws graphs over streams [tokens, 2, 3] of our ops and stock ones.
type randomGraph struct {
	r       *rand.Rand
	b       *graph.Builder
	stock   optest.StockGraph
	nodes   gorgonia.Nodes // all [tokens, 2, 3]
	read    map[*gorgonia.Node]bool
	outputs gorgonia.Nodes
	params  int
	hooks   int
	reshape bool // stock Reshapes too
}

const randomTokens = 3

// recordingHooks ask for hooks "0", "1", ... that write down that they ran.
func recordingHooks(n int, ran *[]int64) graph.Hooks {
	hooks := graph.Hooks{}
	for i := range n {
		hooks[fmt.Sprint(i)] = func(string, *tensor.Dense) error {
			*ran = append(*ran, int64(i))
			return nil
		}
	}
	return hooks
}

// build makes a graph of size steps, some of them in blocks, with a loss that every node
// reaches.
func (g *randomGraph) build(size int) (graph.Roots, error) {
	g.read = map[*gorgonia.Node]bool{}
	g.nodes = gorgonia.Nodes{g.b.Input("x", g.b.DType(), randomTokens, 2, 3), g.b.Input("y", g.b.DType(), randomTokens, 2, 3)}
	for size > 0 && g.b.Err() == nil && g.stock.Err == nil {
		steps := min(size, 1+g.r.IntN(6))
		size -= steps
		body := func() {
			for range steps {
				g.step()
			}
		}
		if g.r.IntN(3) > 0 {
			g.b.Block(body)
		} else {
			body()
		}
	}
	if g.b.Err() != nil || g.stock.Err != nil {
		return graph.Roots{}, fmt.Errorf("builder: %w, stock: %w", g.b.Err(), g.stock.Err)
	}
	return g.roots()
}

func (g *randomGraph) roots() (graph.Roots, error) {
	var ends gorgonia.Nodes
	for _, n := range g.nodes {
		if !g.read[n] {
			ends = append(ends, n)
		}
		if g.r.IntN(8) == 0 && n.Op() != nil {
			g.outputs = append(g.outputs, n)
		}
	}
	sum := g.b.Add(ends...)
	var total *gorgonia.Node
	if g.r.IntN(2) == 0 {
		total = loss.CrossEntropy(g.b, sum, g.param(6, 5), g.b.Input("targets", tensor.Int32, randomTokens), loss.Options{ZLoss: 0.1})
	} else {
		w := g.b.Input("w", g.b.DType(), randomTokens, 2, 3)
		total = g.stock.Node(gorgonia.Sum(g.stock.Node(gorgonia.HadamardProd(sum, w))))
	}
	if err := g.b.Err(); err != nil {
		return graph.Roots{}, err
	}
	return graph.Roots{Loss: total, Outputs: g.outputs}, g.stock.Err
}

// any returns a random node, recent ones more often.
func (g *randomGraph) any() *gorgonia.Node {
	i := len(g.nodes) - 1 - min(g.r.IntN(len(g.nodes)), g.r.IntN(len(g.nodes)))
	g.read[g.nodes[i]] = true
	return g.nodes[i]
}

// param returns a parameter of that shape: a new one or one that has a reader already.
func (g *randomGraph) param(shape ...int) *gorgonia.Node {
	if g.r.IntN(3) == 0 {
		for _, p := range g.b.Learnables() {
			if p.Shape().Eq(tensor.Shape(shape)) {
				return p
			}
		}
	}
	g.params++
	return g.b.Param(graph.ParamSpec{Name: fmt.Sprintf("p%d", g.params), Shape: shape, Init: graph.Initializer{Offset: 0.1, Std: 0.5}})
}

// step adds a node.
func (g *randomGraph) step() {
	b, s := g.b, &g.stock
	kinds := 14
	if g.reshape {
		kinds = 18
	}
	var n *gorgonia.Node
	switch g.r.IntN(kinds) {
	case 0:
		n = b.Add(g.any(), g.any(), g.any())
		if g.r.IntN(3) == 0 {
			n = b.Add(n, g.param(randomTokens, 2, 3)) // a parameter whose gradient goes elsewhere too
		}
	case 1:
		n = elementwise.Scale(b, g.any(), 0.9)
	case 2:
		n = elementwise.Gelu(b, g.any(), g.r.IntN(2) == 0)
	case 3:
		n = linear.Bias(b, g.any(), g.param(2, 3))
	case 4:
		n = norm.Apply(b, g.any(), g.param(2, 3), norm.Options{Bias: g.param(2, 3)})
	case 5:
		n = readwrite.NormRead(b, g.any(), g.param(2, 3), g.param(2, 2), norm.Options{RMS: true})
	case 6:
		n = readwrite.Read(b, g.any(), g.param(2, 2))
	case 7, 8:
		n = readwrite.Write(b, g.any(), g.param(2, 2), g.any())
	case 9:
		n = elementwise.Dropout(b, g.any(), 0.2)
	case 10:
		n = b.Hook(fmt.Sprint(g.hooks), g.any())
		g.hooks++
	case 11:
		n = s.Node(gorgonia.Add(g.any(), g.any()))
	case 12:
		n = s.Node(gorgonia.Abs(g.any()))
	case 13:
		n = s.Node(gorgonia.HadamardProd(g.any(), s.Node(gorgonia.Tanh(g.any()))))
	case 14, 15:
		flat := linear.Map(b, g.any(), g.param(6, 6), linear.Options{}) // [tokens, 6]
		n = s.Node(gorgonia.Reshape(flat, tensor.Shape{randomTokens, 2, 3}))
	case 17:
		h, y := linear.MapGelu(b, g.any(), g.param(6, 5), false) // [tokens, 5]
		flat := linear.Map(b, y, g.param(5, 6), linear.Options{})
		if g.r.IntN(2) == 0 {
			flat = b.Add(flat, linear.Map(b, []*gorgonia.Node{h, y}[g.r.IntN(2)], g.param(5, 6), linear.Options{}))
		}
		n = s.Node(gorgonia.Reshape(flat, tensor.Shape{randomTokens, 2, 3}))
	case 16:
		o := attention.Causal(b, g.any(), attention.Options{Heads: 1, Seq: randomTokens, Scale: 1}) // [tokens, 1, 2]
		n = s.Node(gorgonia.Reshape(linear.Map(b, o, g.param(2, 6), linear.Options{}), tensor.Shape{randomTokens, 2, 3}))
	}
	if b.Err() == nil && s.Err == nil {
		g.nodes = append(g.nodes, n)
	}
}

const randomHooks = 40

// randomProgram compiles the graph that seed stands for.
func randomProgram(t *testing.T, seed uint64, dt tensor.Dtype, o graph.ProgramOptions) (p *graph.Program, ran *[]int64) {
	t.Helper()
	ran = new([]int64)
	o.Options = graph.Options{Threads: 1, DType: dt, Training: true, Seed: seed, Hooks: recordingHooks(randomHooks, ran)}
	o.Gradients = true
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) {
		r := rand.New(rand.NewPCG(seed, 1))
		g := &randomGraph{r: r, b: b, reshape: seed%2 == 0}
		return g.build(4 + r.IntN(30))
	})
	require.NoError(t, err, "seed %d", seed)
	return p, ran
}

// runRandom runs a program a few times, the second time accumulating, and returns all
// that comes out.
func runRandom(t *testing.T, p *graph.Program) []float64 {
	t.Helper()
	var all []float64
	for run := range 3 {
		r := rand.New(rand.NewPCG(uint64(run), 2))
		for _, name := range []string{"x", "y", "w"} {
			if in := p.Input(name); in != nil {
				optest.DrawInto(in, r)
			}
		}
		targets := p.Ints("targets")
		for i := range targets {
			targets[i] = int32(r.IntN(5))
		}
		require.NoError(t, p.Run(graph.RunOptions{Accumulate: run == 1, Step: uint64(run)}))
		all = append(all, optest.ScalarOf(t, p.Roots().Loss))
		for _, n := range p.Roots().Outputs {
			all = append(all, optest.ValuesOf(t, n.Value())...)
		}
		for _, param := range p.Store().Params() {
			all = append(all, graph.Float64s(param.Grad)...)
		}
	}
	return all
}

// TestBufferPlanOnRandomGraphs compares shared buffers with separate ones, bit for bit,
// with and without recomputation, and checks the plan itself.
func TestBufferPlanOnRandomGraphs(t *testing.T) {
	for seed := range graphs(300) {
		var want []float64
		for _, o := range []graph.ProgramOptions{{Separate: true}, {}, {Recompute: graph.RecomputeBlock}, {Recompute: graph.RecomputeBlock, Separate: true}} {
			p, ran := randomProgram(t, seed, tensor.Float32, o)
			checkPlan(t, p)
			got := runRandom(t, p)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got, "seed %d, separate %t, recompute %q", seed, o.Separate, o.Recompute)
			checkOrder(t, p, *ran)
			p.Close()
		}
	}
}

// graphs is how many random graphs a test makes: n among the long tests, a fifth else.
func graphs(n uint64) uint64 {
	if longtest.Enabled() {
		return n
	}
	return n / 5
}

// checkPlan checks that no two intervals share memory at one time.
func checkPlan(t *testing.T, p *graph.Program) {
	t.Helper()
	for i, v := range p.Plan().Intervals() {
		start, end, offset, bytes := v.Where()
		require.LessOrEqual(t, start, end)
		require.LessOrEqual(t, offset+bytes, p.Plan().Bytes())
		require.Zero(t, offset%graph.ArenaAlignment)
		for _, w := range p.Plan().Intervals()[:i] {
			otherStart, otherEnd, otherOffset, otherBytes := w.Where()
			apart := end < otherStart || otherEnd < start || offset+bytes <= otherOffset || otherOffset+otherBytes <= offset
			require.True(t, apart, "intervals %+v and %+v overlap", *v, *w)
		}
	}
	require.LessOrEqual(t, p.Plan().Bytes(), p.Plan().Unshared())
}

// checkOrder checks what the plan and recomputation rest on: that the tape machine runs
// nodes in the order in which they were made.
func checkOrder(t *testing.T, p *graph.Program, ran []int64) {
	t.Helper()
	for i, n := range p.Plan().Order() {
		require.EqualValues(t, i, n.ID())
	}
	require.Len(t, ran, 3*len(p.Builder().HookedNodes()))
	for i := range ran {
		require.EqualValues(t, i%len(p.Builder().HookedNodes()), ran[i], "hooks ran in the order %v", ran)
	}
}

// TestRandomGraphsUnderGrad compares Program's gradients with gorgonia.Grad's on random
// graphs, in float64.
func TestRandomGraphsUnderGrad(t *testing.T) {
	for seed := uint64(1); seed < graphs(60); seed += 2 { // odd: no stock Reshape
		p, _ := randomProgram(t, seed, tensor.Float64, graph.ProgramOptions{})
		r := rand.New(rand.NewPCG(9, 9))
		b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1, DType: tensor.Float64, Training: true, Seed: seed, Store: p.Store(),
			Hooks: recordingHooks(randomHooks, new([]int64))})
		gr := rand.New(rand.NewPCG(seed, 1))
		g := &randomGraph{r: gr, b: b}
		roots, err := g.build(4 + gr.IntN(30))
		require.NoError(t, err)
		grads, err := gorgonia.Grad(roots.Loss, b.Learnables()...)
		require.NoError(t, err)
		for name, in := range optest.LetInputs(t, b) {
			if in.Dtype() == tensor.Int32 {
				copy(in.Int32s(), []int32{4, 0, 1})
			} else {
				optest.DrawInto(in, r)
			}
			copyInto(p.Input(name), in)
		}
		require.NoError(t, p.Run(graph.RunOptions{}))
		vm := gorgonia.NewTapeMachine(b.Graph())
		require.NoError(t, vm.RunAll())
		require.InDelta(t, optest.ScalarOf(t, roots.Loss), optest.ScalarOf(t, p.Roots().Loss), 1e-12, "seed %d", seed)
		for i, n := range b.Learnables() {
			require.InDeltaSlice(t, optest.ValuesOf(t, grads[i].Value()), graph.Float64s(p.Store().Param(n.Name()).Grad), 1e-9, "seed %d, %s", seed, n.Name())
		}
		require.NoError(t, vm.Close())
		p.Close()
	}
}

// TestRandomGraphsByQuotients compares Program's gradients with difference quotients on
// random graphs, in float64.
func TestRandomGraphsByQuotients(t *testing.T) {
	for seed := range graphs(24) {
		p, _ := randomProgram(t, seed, tensor.Float64, graph.ProgramOptions{})
		runRandom(t, p) // leaves values in the inputs
		m := &optest.Machine{Run: func() error { return p.Run(graph.RunOptions{Step: 1}) }, Loss: func() float64 { return optest.ScalarOf(t, p.Roots().Loss) }}
		require.NoError(t, m.Run())
		var grads [][]float64
		for _, param := range p.Store().Params() {
			grads = append(grads, graph.Float64s(param.Grad))
		}
		for i, param := range p.Store().Params() {
			optest.CheckQuotients(t, m, param.Value.Float64s(), grads[i], 1e-6, fmt.Sprintf("seed %d, %s", seed, param.Name))
		}
		p.Close()
	}
}

// TestRandomGraphsAccumulate checks that gradients of two runs add up.
func TestRandomGraphsAccumulate(t *testing.T) {
	for seed := range graphs(60) {
		p, _ := randomProgram(t, seed, tensor.Float64, graph.ProgramOptions{})
		run := func(step uint64, accumulate bool) []float64 {
			r := rand.New(rand.NewPCG(step, 3))
			for _, name := range []string{"x", "y", "w"} {
				if in := p.Input(name); in != nil {
					optest.DrawInto(in, r)
				}
			}
			require.NoError(t, p.Run(graph.RunOptions{Accumulate: accumulate, Step: step}))
			var all []float64
			for _, param := range p.Store().Params() {
				all = append(all, graph.Float64s(param.Grad)...)
			}
			return all
		}
		want := optest.WantAdd([][]float64{run(1, false), run(2, false)}, nil)
		run(1, false)
		require.InDeltaSlice(t, want, run(2, true), 1e-9, "seed %d", seed)
		p.Close()
	}
}

func copyInto(to, from *tensor.Dense) {
	if to.Dtype() == tensor.Int32 {
		copy(to.Int32s(), from.Int32s())
		return
	}
	copy(to.Float64s(), from.Float64s())
}

// TestPlanOfManyStockNodes checks that planning stays quick where stock nodes read each
// other twice over.
func TestPlanOfManyStockNodes(t *testing.T) {
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		var s optest.StockGraph
		x := elementwise.Scale(b, b.Input("x", tensor.Float32, 2), 1)
		for range 64 {
			x = s.Node(gorgonia.HadamardProd(x, x))
		}
		return graph.Roots{Outputs: gorgonia.Nodes{x}}, s.Err
	})
	require.NoError(t, err)
	p.Close()
}
