package graph_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

// feedTokens fills the inputs of deepGraph.
func feedTokens(p *graph.Program, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	for _, name := range []string{"tokens", "targets"} {
		ids := p.Ints(name)
		for i := range ids {
			ids[i] = int32(r.IntN(11))
		}
	}
}

// lossAndGrads returns everything that a training run computes.
func lossAndGrads(t *testing.T, p *graph.Program) []float64 {
	t.Helper()
	all := []float64{optest.ScalarOf(t, p.Roots().Loss)}
	for _, param := range p.Store().Params() {
		all = append(all, graph.Float64s(param.Grad)...)
	}
	return all
}

// TestRecompute checks that recomputation gives the same bits with a smaller arena.
func TestRecompute(t *testing.T) {
	o := graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true, Seed: 3}, Gradients: true, Recompute: graph.RecomputeNone}
	none := deepProgram(t, o, 16)
	o.Recompute = graph.RecomputeBlock
	block := deepProgram(t, o, 16)
	for step := range uint64(3) {
		var want []float64
		for _, p := range []*graph.Program{none, block} {
			feedTokens(p, step)
			require.NoError(t, p.Run(graph.RunOptions{Step: step}))
			got := lossAndGrads(t, p)
			if want == nil {
				want = got
			}
			require.Equal(t, want, got)
		}
	}
	t.Logf("arena: %d bytes kept, %d recomputed; nodes: %d and %d", none.Memory().Arena, block.Memory().Arena, none.Nodes(), block.Nodes())
	require.Less(t, 2*block.Memory().Arena, none.Memory().Arena)
	require.Less(t, 2*block.Memory().Activations, none.Memory().Activations)
	require.Less(t, block.Nodes(), none.Nodes()*4/3, "a block is computed twice at most")
}

// TestMemory checks the memory report of the buffer plan.
func TestMemory(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}, Gradients: true}, 4)
	m := p.Memory()
	require.Positive(t, m.Arena)
	require.Less(t, m.Arena, m.Unshared)
	require.Less(t, m.Activations, m.Unshared)
	require.Equal(t, 2*4*p.Store().Size(), m.Parameters, "values and gradients")
	for _, param := range p.Store().Params() {
		p.Store().EnsureMoments(param, 2)
	}
	require.Equal(t, 4*4*p.Store().Size(), p.Memory().Parameters, "and moments")
	infer := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}}, 4)
	require.Zero(t, infer.Memory().Activations)
	require.Less(t, infer.Memory().Arena, m.Arena)
}

// TestAccumulate checks that the gradients of micro-batches sum to those of the whole batch.
func TestAccumulate(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		const micro, tokens = 5, 6
		store := graph.NewStore(dt, 1)
		compile := func(tokens int) *graph.Program {
			p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2, Store: store, DType: dt}, Gradients: true},
				func(b *graph.Builder) (graph.Roots, error) { return deepGraph(b, tokens, 3), b.Err() })
			require.NoError(t, err)
			t.Cleanup(p.Close)
			return p
		}
		whole, part := compile(micro*tokens), compile(tokens)
		feedTokens(whole, 9)
		require.NoError(t, whole.Run(graph.RunOptions{}))
		want := lossAndGrads(t, whole)
		loss := 0.0
		for i := range micro {
			for _, name := range []string{"tokens", "targets"} {
				copy(part.Ints(name), whole.Ints(name)[i*tokens:])
			}
			require.NoError(t, part.Run(graph.RunOptions{Accumulate: i > 0}))
			loss += optest.ScalarOf(t, part.Roots().Loss)
		}
		got := lossAndGrads(t, part)
		got[0] = loss
		scale, worst := 0.0, 0.0
		for i := range want {
			scale = max(scale, want[i]*want[i])
			worst = max(worst, (got[i]/micro-want[i])*(got[i]/micro-want[i]))
		}
		require.Less(t, worst, 1e-12*scale, "%v", dt) // 1e-6 of the largest entry
	}
}

// TestDeadNodes checks that a program refuses nodes that nothing needs.
func TestDeadNodes(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}, Gradients: true}, 3)
	require.Empty(t, p.DeadNodes())
	_, err := graph.Compile(graph.ProgramOptions{}, func(b *graph.Builder) (graph.Roots, error) {
		roots := deepGraph(b, 6, 1)
		elementwise.Scale(b, b.Input("unused", tensor.Float32, 3), 2)
		return roots, b.Err()
	})
	optest.RequireLine(t, err, "verify", "read by nothing")
}

// TestSecondDifferentiation checks that a loss that computes its gradients in its own run refuses
// to be differentiated twice.
func TestSecondDifferentiation(t *testing.T) {
	_, err := graph.Compile(graph.ProgramOptions{Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		roots := deepGraph(b, 6, 1)
		_, err := gorgonia.Grad(roots.Loss, b.Learnables()...)
		return roots, err
	})
	optest.RequireLine(t, err, "CrossEntropy: want one differentiation of a loss, got a second")
}

// TestCacheWithGradients checks that a generating graph cannot be differentiated.
func TestCacheWithGradients(t *testing.T) {
	cache, err := graph.NewCache(1, 4)
	require.NoError(t, err)
	c := optest.Case{Floats: [][]int{{1, 3, 1, 2}}, Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		return attention.Causal(b, x[0], attention.Options{Heads: 1, Seq: 1, Scale: 1})
	}}
	_, err = graph.Compile(graph.ProgramOptions{Options: graph.Options{Cache: cache}, Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
		g, err := c.Graph(b)
		return graph.Roots{Loss: g.Loss}, err
	})
	optest.RequireLine(t, err, "want no cache where a gradient is taken")
}

// TestProgramsShareNothing runs two programs over one Store in turn: a run of one does not change
// the other's results.
func TestProgramsShareNothing(t *testing.T) {
	store := graph.NewStore(tensor.Float32, 1)
	var outputs gorgonia.Nodes
	compile := func() *graph.Program {
		p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1, Store: store}}, func(b *graph.Builder) (graph.Roots, error) {
			x := b.Input("x", tensor.Float32, 3, 5)
			y := elementwise.Gelu(b, linear.Map(b, x, b.Param(graph.ParamSpec{Name: "w", Shape: []int{5, 5}, Init: graph.Normal(1)}), linear.Options{}), false)
			outputs = append(outputs, y)
			return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
		})
		require.NoError(t, err)
		t.Cleanup(p.Close)
		return p
	}
	a, b := compile(), compile()
	optest.DrawInto(a.Input("x"), rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, a.Run(graph.RunOptions{}))
	before := optest.ValuesOf(t, outputs[0].Value())
	require.NoError(t, b.Run(graph.RunOptions{})) // b's input is zero
	require.Equal(t, before, optest.ValuesOf(t, outputs[0].Value()))
	require.Equal(t, make([]float64, 15), optest.ValuesOf(t, outputs[1].Value()))
	require.Len(t, store.Params(), 1)
}

// TestLossParts checks that the two terms of a loss add up.
func TestLossParts(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}}, 1)
	feedTokens(p, 1)
	require.NoError(t, p.Run(graph.RunOptions{}))
	ce, z, err := loss.Parts(p.Roots().Loss)
	require.NoError(t, err)
	require.Positive(t, z)
	require.InDelta(t, optest.ScalarOf(t, p.Roots().Loss), ce+z, 1e-6)
}
