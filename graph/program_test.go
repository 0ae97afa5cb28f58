package graph_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// feedTokens fills deepGraph's inputs.
func feedTokens(p *graph.Program, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	for _, name := range []string{"tokens", "targets"} {
		ids := p.Ints(name)
		for i := range ids {
			ids[i] = int32(r.IntN(11))
		}
	}
}

// lossAndGrads returns everything a training run leaves.
func lossAndGrads(t *testing.T, p *graph.Program) []float64 {
	t.Helper()
	all := []float64{optest.ScalarOf(t, p.Roots().Loss)}
	for _, param := range p.Store().Params() {
		all = append(all, graph.Float64s(param.Grad)...)
	}
	return all
}

// TestRecompute checks that recomputation keeps every bit and shrinks the arena.
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

// TestMemory checks the buffer plan's report.
func TestMemory(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}, Gradients: true}, 4)
	m := p.Memory()
	require.Positive(t, m.Arena)
	require.Less(t, m.Arena, m.Unshared)
	require.Less(t, m.Activations, m.Unshared)
	require.Equal(t, 2*4*p.Store().Size(), m.Parameters, "values and gradients")
	for _, param := range p.Store().Params() {
		p.Store().EnsureMoments(param)
	}
	require.Equal(t, 4*4*p.Store().Size(), p.Memory().Parameters, "and moments")
	infer := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}}, 4)
	require.Zero(t, infer.Memory().Activations)
	require.Less(t, infer.Memory().Arena, m.Arena)
}

// TestAccumulate checks that micro-batches add up to one batch.
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

// TestHashCollision builds two nodes of one 32-bit hash, which Gorgonia would take for one
// node, and checks that the program builds them anew with other hashes.
func TestHashCollision(t *testing.T) {
	const first, second = 584699365, 158562137 // found by search: nodes 1 and 2 of a graph on input "x"
	var hashes [][2]uint32
	var y, z *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 1}}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Input("x", tensor.Float32, 2)
		y, z = elementwise.Scale(b, x, first), elementwise.Scale(b, x, second)
		hashes = append(hashes, [2]uint32{y.Hashcode(), z.Hashcode()})
		return graph.Roots{Outputs: gorgonia.Nodes{y, z}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, hashes[0][0], hashes[0][1], "the two nodes no longer collide: search again")
	require.Len(t, hashes, 2)
	require.NotEqual(t, hashes[1][0], hashes[1][1])
	copy(p.Input("x").Float32s(), []float32{1, 2})
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.InEpsilonSlice(t, []float64{first, 2 * first}, optest.ValuesOf(t, y.Value()), 1e-6)
	require.InEpsilonSlice(t, []float64{second, 2 * second}, optest.ValuesOf(t, z.Value()), 1e-6)

	_, err = graph.Compile(graph.ProgramOptions{}, func(b *graph.Builder) (graph.Roots, error) {
		sum := b.Add(b.Input("7dc27bc088", tensor.Float32, 2), b.Input("2947a38d3a", tensor.Float32, 2)) // one hash, ours to keep
		return graph.Roots{Outputs: gorgonia.Nodes{sum}}, b.Err()
	})
	optest.RequireLine(t, err, "2947a38d3a", "change its name")
}

// TestCompileErrors lists what Compile refuses.
func TestCompileErrors(t *testing.T) {
	simple := func(b *graph.Builder) (graph.Roots, error) { return deepGraph(b, 6, 1), nil }
	stranger := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 1, gorgonia.WithShape(2), gorgonia.WithName("stranger"))
	for _, c := range []struct {
		o     graph.ProgramOptions
		build graph.BuildFunc
		want  string
	}{
		{graph.ProgramOptions{Recompute: "some"}, simple, `recompute: want "none" or "block", got "some"`},
		{graph.ProgramOptions{}, nil, "want a function"},
		{graph.ProgramOptions{}, func(*graph.Builder) (graph.Roots, error) { return graph.Roots{}, fmt.Errorf("no model") }, "no model"},
		{graph.ProgramOptions{}, func(*graph.Builder) (graph.Roots, error) { return graph.Roots{}, nil }, "want a loss or an output, got neither"},
		{graph.ProgramOptions{}, func(*graph.Builder) (graph.Roots, error) { return graph.Roots{Loss: stranger}, nil }, `got "stranger"`},
		{graph.ProgramOptions{}, func(b *graph.Builder) (graph.Roots, error) {
			return graph.Roots{Loss: deepGraph(b, 6, 1).Loss, Outputs: gorgonia.Nodes{nil}}, nil
		}, "got nil"},
		{graph.ProgramOptions{}, func(b *graph.Builder) (graph.Roots, error) {
			attention.Positions(b, nil)
			return deepGraph(b, 6, 1), nil
		}, "Positions: input 0: want a node, got nil"},
		{graph.ProgramOptions{Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
			return graph.Roots{Outputs: gorgonia.Nodes{deepGraph(b, 6, 1).Loss}}, nil
		}, "want a loss to differentiate"},
		{graph.ProgramOptions{Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
			return graph.Roots{Loss: elementwise.Scale(b, b.Param(graph.ParamSpec{Name: "p", Shape: []int{2}}), 2)}, nil
		}, "want a scalar, got shape (2)"},
		{graph.ProgramOptions{Gradients: true}, func(b *graph.Builder) (graph.Roots, error) {
			b.Param(graph.ParamSpec{Name: "lonely", Shape: []int{2}})
			return deepGraph(b, 6, 1), nil
		}, `"lonely": want a path to the loss`},
		{graph.ProgramOptions{Options: graph.Options{DType: tensor.Float64, Store: graph.NewStore(tensor.Float32, 0)}}, simple, "the store holds float32"},
	} {
		p, err := graph.Compile(c.o, c.build)
		require.Nil(t, p, c.want)
		optest.RequireLine(t, err, "graph: ", c.want)
	}
}

// TestSecondDifferentiation checks that a loss, whose one run makes its gradients too,
// refuses to be differentiated twice.
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

// TestRunErrors checks that bad token ids are errors of the run that name the id, and
// that the program runs again with good ones.
func TestRunErrors(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 2}, Gradients: true}, 2)
	feedTokens(p, 1)
	require.NoError(t, p.Run(graph.RunOptions{}))
	want := lossAndGrads(t, p)
	for _, bad := range []struct {
		input string
		id    int32
		want  string
	}{{"tokens", 11, "got 11"}, {"tokens", -1, "got -1"}, {"targets", 11, "got 11"}, {"targets", 1 << 30, "got 1073741824"}} {
		feedTokens(p, 1)
		p.Ints(bad.input)[3] = bad.id
		err := p.Run(graph.RunOptions{})
		optest.RequireLine(t, err, "graph: run: ", bad.want)
		require.NotContains(t, err.Error(), "Failed to execute")
		feedTokens(p, 1)
		require.NoError(t, p.Run(graph.RunOptions{}))
		require.Equal(t, want, lossAndGrads(t, p))
	}
	for i := range p.Ints("targets") {
		p.Ints("targets")[i] = -1
	}
	require.NoError(t, p.Run(graph.RunOptions{}), "no target counts")
	for _, v := range lossAndGrads(t, p) {
		require.Zero(t, v)
	}
}

// TestClosedProgram checks what a closed program answers.
func TestClosedProgram(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 2}}, 1)
	require.NoError(t, p.Run(graph.RunOptions{}))
	p.Close()
	p.Close()
	optest.RequireLine(t, p.Run(graph.RunOptions{}), "want an open program, got a closed one")
	require.Nil(t, p.Ints("no such input"))
	require.Nil(t, p.Input("no such input"))
}

// TestCloseEndsGoroutines checks that a closed program leaves no worker behind.
func TestCloseEndsGoroutines(t *testing.T) {
	runtime.GC()
	before := runtime.NumGoroutine()
	for range 5 {
		p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 4}, Gradients: true}, 1)
		require.NoError(t, p.Run(graph.RunOptions{}))
		p.Ints("tokens")[0] = -1
		require.Error(t, p.Run(graph.RunOptions{}))
		require.Greater(t, runtime.NumGoroutine(), before, "the workers were never started")
		p.Close()
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// TestProgramsShareNothing runs two programs over one Store in turn: neither's results
// change under the other's run.
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

// TestSameSeedSameBits checks that two programs of one seed agree, and that those of
// another seed do not.
func TestSameSeedSameBits(t *testing.T) {
	run := func(seed uint64) []float64 {
		p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true, Seed: seed}, Gradients: true}, 3)
		feedTokens(p, 1)
		require.NoError(t, p.Run(graph.RunOptions{Step: 4}))
		return lossAndGrads(t, p)
	}
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1), run(2))
}

// TestDropout checks that the mask depends on the step alone while a program runs, keeps
// about the right number of entries, and that without Training x itself is returned.
func TestDropout(t *testing.T) {
	var y *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true}}, func(b *graph.Builder) (graph.Roots, error) {
		y = elementwise.Dropout(b, b.Input("x", tensor.Float32, 100, 100), 0.2)
		return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	optest.Fill(p.Input("x").Float32s(), func() float64 { return 1 })
	run := func(step uint64) []float64 {
		require.NoError(t, p.Run(graph.RunOptions{Step: step}))
		return optest.ValuesOf(t, y.Value())
	}
	first := run(1)
	require.Equal(t, first, run(1))
	require.NotEqual(t, first, run(2))
	kept := 0
	for _, v := range first {
		if v != 0 {
			require.InDelta(t, 1.25, v, 1e-6)
			kept++
		}
	}
	require.InDelta(t, 8000, kept, 160, "4 standard deviations")
	p, err = graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true}}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Input("x", tensor.Float32, 100, 100)
		return graph.Roots{Outputs: gorgonia.Nodes{elementwise.Dropout(b, x, 0.2), elementwise.Dropout(b, x, 0.2)}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	optest.Fill(p.Input("x").Float32s(), func() float64 { return 1 })
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.NotEqual(t, optest.ValuesOf(t, p.Roots().Outputs[0].Value()), optest.ValuesOf(t, p.Roots().Outputs[1].Value()), "each site has a mask of its own")
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	x := b.Input("x", tensor.Float32, 2, 3)
	require.Same(t, x, elementwise.Dropout(b, x, 0.5))
	require.Same(t, x, elementwise.Dropout(graph.On(b.Graph(), graph.Options{Training: true}), x, 0))
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
