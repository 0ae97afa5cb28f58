package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/ops/readwrite"
	"github.com/residua-go/residua/graph/optest"
	"github.com/residua-go/residua/internal/longtest"
)

// randomGraph draws random graphs over streams [tokens, 2, 3], of our ops and stock ones.
type randomGraph struct {
	r       *rand.Rand
	b       *graph.Builder
	stock   optest.StockGraph
	nodes   gorgonia.Nodes // all [tokens, 2, 3]
	read    map[*gorgonia.Node]bool
	outputs gorgonia.Nodes
	params  int
	hooks   int
	reshape bool // with stock Reshapes
}

const randomTokens = 3

// recordingHooks returns hooks "0", "1", ... that append their number to ran when they run.
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

// param returns a parameter of the given shape: a new one, or one that another node reads already.
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
			n = b.Add(n, g.param(randomTokens, 2, 3)) // a parameter that also has another reader
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
		h, y := linear.MapActivated(b, g.any(), g.param(6, 5), kernel.GeluTanh) // [tokens, 5]
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

// randomProgram compiles the graph that the seed draws.
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

// runRandom runs a program a few times, accumulating in the second run, and returns all results.
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

// graphs returns the number of random graphs for a test: n among the long tests, otherwise a fifth
// of it.
func graphs(n uint64) uint64 {
	if longtest.Enabled() {
		return n
	}
	return n / 5
}

func copyInto(to, from *tensor.Dense) {
	if to.Dtype() == tensor.Int32 {
		copy(to.Int32s(), from.Int32s())
		return
	}
	copy(to.Float64s(), from.Float64s())
}
