package graph

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// feedTokens fills deepGraph's inputs.
func feedTokens(p *Program, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 5))
	for _, name := range []string{"tokens", "targets"} {
		ids := p.Ints(name)
		for i := range ids {
			ids[i] = int32(r.IntN(11))
		}
	}
}

// lossAndGrads returns everything a training run leaves.
func lossAndGrads(t *testing.T, p *Program) []float64 {
	t.Helper()
	all := []float64{scalarOf(t, p.Roots().Loss)}
	for _, param := range p.Store().Params() {
		all = append(all, Float64s(param.Grad)...)
	}
	return all
}

// TestRecompute checks that recomputation keeps every bit and shrinks the arena.
func TestRecompute(t *testing.T) {
	o := ProgramOptions{Options: Options{Threads: 2, Training: true, Seed: 3}, Gradients: true, Recompute: RecomputeNone}
	none := deepProgram(t, o, 16)
	o.Recompute = RecomputeBlock
	block := deepProgram(t, o, 16)
	for step := range uint64(3) {
		var want []float64
		for _, p := range []*Program{none, block} {
			feedTokens(p, step)
			require.NoError(t, p.Run(RunOptions{Step: step}))
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
	p := deepProgram(t, ProgramOptions{Options: Options{Threads: 1}, Gradients: true}, 4)
	m := p.Memory()
	require.Positive(t, m.Arena)
	require.Less(t, m.Arena, m.Unshared)
	require.Less(t, m.Activations, m.Unshared)
	require.Equal(t, 2*4*p.Store().Size(), m.Parameters, "values and gradients")
	for _, param := range p.Store().Params() {
		p.Store().EnsureMoments(param)
	}
	require.Equal(t, 4*4*p.Store().Size(), p.Memory().Parameters, "and moments")
	infer := deepProgram(t, ProgramOptions{Options: Options{Threads: 1}}, 4)
	require.Zero(t, infer.Memory().Activations)
	require.Less(t, infer.Memory().Arena, m.Arena)
}

// TestAccumulate checks that micro-batches add up to one batch.
func TestAccumulate(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float64, tensor.Float32} {
		const micro, tokens = 5, 6
		store := NewStore(dt, 1)
		compile := func(tokens int) *Program {
			p, err := Compile(ProgramOptions{Options: Options{Threads: 2, Store: store, DType: dt}, Gradients: true},
				func(b *Builder) (Roots, error) { return deepGraph(b, tokens, 3), b.Err() })
			require.NoError(t, err)
			t.Cleanup(p.Close)
			return p
		}
		whole, part := compile(micro*tokens), compile(tokens)
		feedTokens(whole, 9)
		require.NoError(t, whole.Run(RunOptions{}))
		want := lossAndGrads(t, whole)
		loss := 0.0
		for i := range micro {
			for _, name := range []string{"tokens", "targets"} {
				copy(part.Ints(name), whole.Ints(name)[i*tokens:])
			}
			require.NoError(t, part.Run(RunOptions{Accumulate: i > 0}))
			loss += scalarOf(t, part.Roots().Loss)
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
	p := deepProgram(t, ProgramOptions{Options: Options{Threads: 1}, Gradients: true}, 3)
	require.Empty(t, p.DeadNodes())
	_, err := Compile(ProgramOptions{}, func(b *Builder) (Roots, error) {
		roots := deepGraph(b, 6, 1)
		b.Scale(b.Input("unused", tensor.Float32, 3), 2)
		return roots, b.Err()
	})
	requireLine(t, err, "verify", "read by nothing")
}

// TestHashCollision builds two nodes of one 32-bit hash, which Gorgonia would take for one
// node, and checks that the program builds them anew with other hashes.
func TestHashCollision(t *testing.T) {
	const first, second = 584699365, 158562137 // found by search: nodes 1 and 2 of a graph on input "x"
	var hashes [][2]uint32
	var y, z *gorgonia.Node
	p, err := Compile(ProgramOptions{Options: Options{Threads: 1}}, func(b *Builder) (Roots, error) {
		x := b.Input("x", tensor.Float32, 2)
		y, z = b.Scale(x, first), b.Scale(x, second)
		hashes = append(hashes, [2]uint32{y.Hashcode(), z.Hashcode()})
		return Roots{Outputs: gorgonia.Nodes{y, z}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, hashes[0][0], hashes[0][1], "the two nodes no longer collide: search again")
	require.Len(t, hashes, 2)
	require.NotEqual(t, hashes[1][0], hashes[1][1])
	copy(p.Input("x").Float32s(), []float32{1, 2})
	require.NoError(t, p.Run(RunOptions{}))
	require.InEpsilonSlice(t, []float64{first, 2 * first}, valuesOf(t, y.Value()), 1e-6)
	require.InEpsilonSlice(t, []float64{second, 2 * second}, valuesOf(t, z.Value()), 1e-6)

	_, err = Compile(ProgramOptions{}, func(b *Builder) (Roots, error) {
		sum := b.Add(b.Input("7dc27bc088", tensor.Float32, 2), b.Input("2947a38d3a", tensor.Float32, 2)) // one hash, ours to keep
		return Roots{Outputs: gorgonia.Nodes{sum}}, b.Err()
	})
	requireLine(t, err, "2947a38d3a", "change its name")
}

// TestCompileErrors lists what Compile refuses.
func TestCompileErrors(t *testing.T) {
	simple := func(b *Builder) (Roots, error) { return deepGraph(b, 6, 1), nil }
	stranger := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 1, gorgonia.WithShape(2), gorgonia.WithName("stranger"))
	for _, c := range []struct {
		o     ProgramOptions
		build BuildFunc
		want  string
	}{
		{ProgramOptions{Recompute: "some"}, simple, `recompute: want "none" or "block", got "some"`},
		{ProgramOptions{}, nil, "want a function"},
		{ProgramOptions{}, func(*Builder) (Roots, error) { return Roots{}, fmt.Errorf("no model") }, "no model"},
		{ProgramOptions{}, func(*Builder) (Roots, error) { return Roots{}, nil }, "want a loss or an output, got neither"},
		{ProgramOptions{}, func(*Builder) (Roots, error) { return Roots{Loss: stranger}, nil }, `got "stranger"`},
		{ProgramOptions{}, func(b *Builder) (Roots, error) {
			return Roots{Loss: deepGraph(b, 6, 1).Loss, Outputs: gorgonia.Nodes{nil}}, nil
		}, "got nil"},
		{ProgramOptions{}, func(b *Builder) (Roots, error) { b.Positions(nil); return deepGraph(b, 6, 1), nil }, "Positions: input 0: want a node, got nil"},
		{ProgramOptions{Gradients: true}, func(b *Builder) (Roots, error) {
			return Roots{Outputs: gorgonia.Nodes{deepGraph(b, 6, 1).Loss}}, nil
		}, "want a loss to differentiate"},
		{ProgramOptions{Gradients: true}, func(b *Builder) (Roots, error) {
			return Roots{Loss: b.Scale(b.Param(ParamSpec{Name: "p", Shape: []int{2}}), 2)}, nil
		}, "want a scalar, got shape (2)"},
		{ProgramOptions{Gradients: true}, func(b *Builder) (Roots, error) {
			b.Param(ParamSpec{Name: "lonely", Shape: []int{2}})
			return deepGraph(b, 6, 1), nil
		}, `"lonely": want a path to the loss`},
		{ProgramOptions{Options: Options{DType: tensor.Float64, Store: NewStore(tensor.Float32, 0)}}, simple, "the store holds float32"},
	} {
		p, err := Compile(c.o, c.build)
		require.Nil(t, p, c.want)
		requireLine(t, err, "graph: ", c.want)
	}
}

// TestSecondDifferentiation checks that a loss, whose one run makes its gradients too,
// refuses to be differentiated twice.
func TestSecondDifferentiation(t *testing.T) {
	_, err := Compile(ProgramOptions{Gradients: true}, func(b *Builder) (Roots, error) {
		roots := deepGraph(b, 6, 1)
		_, err := gorgonia.Grad(roots.Loss, b.Learnables()...)
		return roots, err
	})
	requireLine(t, err, "CrossEntropy: want one differentiation of a loss, got a second")
}

// TestCacheWithGradients checks that a generating graph cannot be differentiated.
func TestCacheWithGradients(t *testing.T) {
	cache, err := NewCache(1, 4)
	require.NoError(t, err)
	c := opCase{floats: [][]int{{1, 3, 1, 2}}, build: func(b *Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
		return b.CausalAttention(x[0], AttentionOptions{Heads: 1, Seq: 1, Scale: 1})
	}}
	_, err = Compile(ProgramOptions{Options: Options{Cache: cache}, Gradients: true}, func(b *Builder) (Roots, error) {
		g, err := c.graph(b)
		return Roots{Loss: g.loss}, err
	})
	requireLine(t, err, "want no cache where a gradient is taken")
}

// TestRunErrors checks that bad token ids are errors of the run that name the id, and
// that the program runs again with good ones.
func TestRunErrors(t *testing.T) {
	p := deepProgram(t, ProgramOptions{Options: Options{Threads: 2}, Gradients: true}, 2)
	feedTokens(p, 1)
	require.NoError(t, p.Run(RunOptions{}))
	want := lossAndGrads(t, p)
	for _, bad := range []struct {
		input string
		id    int32
		want  string
	}{{"tokens", 11, "got 11"}, {"tokens", -1, "got -1"}, {"targets", 11, "got 11"}, {"targets", 1 << 30, "got 1073741824"}} {
		feedTokens(p, 1)
		p.Ints(bad.input)[3] = bad.id
		err := p.Run(RunOptions{})
		requireLine(t, err, "graph: run: ", bad.want)
		require.NotContains(t, err.Error(), "Failed to execute")
		feedTokens(p, 1)
		require.NoError(t, p.Run(RunOptions{}))
		require.Equal(t, want, lossAndGrads(t, p))
	}
	for i := range p.Ints("targets") {
		p.Ints("targets")[i] = -1
	}
	require.NoError(t, p.Run(RunOptions{}), "no target counts")
	for _, v := range lossAndGrads(t, p) {
		require.Zero(t, v)
	}
}

// TestClosedProgram checks what a closed program answers.
func TestClosedProgram(t *testing.T) {
	p := deepProgram(t, ProgramOptions{Options: Options{Threads: 2}}, 1)
	require.NoError(t, p.Run(RunOptions{}))
	p.Close()
	p.Close()
	requireLine(t, p.Run(RunOptions{}), "want an open program, got a closed one")
	require.Nil(t, p.Ints("no such input"))
	require.Nil(t, p.Input("no such input"))
}

// TestCloseEndsGoroutines checks that a closed program leaves no worker behind.
func TestCloseEndsGoroutines(t *testing.T) {
	runtime.GC()
	before := runtime.NumGoroutine()
	for range 5 {
		p := deepProgram(t, ProgramOptions{Options: Options{Threads: 4}, Gradients: true}, 1)
		require.NoError(t, p.Run(RunOptions{}))
		p.Ints("tokens")[0] = -1
		require.Error(t, p.Run(RunOptions{}))
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
	store := NewStore(tensor.Float32, 1)
	var outputs gorgonia.Nodes
	compile := func() *Program {
		p, err := Compile(ProgramOptions{Options: Options{Threads: 1, Store: store}}, func(b *Builder) (Roots, error) {
			x := b.Input("x", tensor.Float32, 3, 5)
			y := b.Gelu(b.Linear(x, b.Param(ParamSpec{Name: "w", Shape: []int{5, 5}, Init: Normal(1)}), LinearOptions{}), false)
			outputs = append(outputs, y)
			return Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
		})
		require.NoError(t, err)
		t.Cleanup(p.Close)
		return p
	}
	a, b := compile(), compile()
	drawInto(a.Input("x"), rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, a.Run(RunOptions{}))
	before := valuesOf(t, outputs[0].Value())
	require.NoError(t, b.Run(RunOptions{})) // b's input is zero
	require.Equal(t, before, valuesOf(t, outputs[0].Value()))
	require.Equal(t, make([]float64, 15), valuesOf(t, outputs[1].Value()))
	require.Len(t, store.Params(), 1)
}

// TestSameSeedSameBits checks that two programs of one seed agree, and that those of
// another seed do not.
func TestSameSeedSameBits(t *testing.T) {
	run := func(seed uint64) []float64 {
		p := deepProgram(t, ProgramOptions{Options: Options{Threads: 2, Training: true, Seed: seed}, Gradients: true}, 3)
		feedTokens(p, 1)
		require.NoError(t, p.Run(RunOptions{Step: 4}))
		return lossAndGrads(t, p)
	}
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1), run(2))
}

// TestDropout checks that the mask depends on the step alone while a program runs, keeps
// about the right number of entries, and that without Training x itself is returned.
func TestDropout(t *testing.T) {
	var y *gorgonia.Node
	p, err := Compile(ProgramOptions{Options: Options{Threads: 2, Training: true}}, func(b *Builder) (Roots, error) {
		y = b.Dropout(b.Input("x", tensor.Float32, 100, 100), 0.2)
		return Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	fill(p.Input("x").Float32s(), func() float64 { return 1 })
	run := func(step uint64) []float64 {
		require.NoError(t, p.Run(RunOptions{Step: step}))
		return valuesOf(t, y.Value())
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
	p, err = Compile(ProgramOptions{Options: Options{Threads: 2, Training: true}}, func(b *Builder) (Roots, error) {
		x := b.Input("x", tensor.Float32, 100, 100)
		return Roots{Outputs: gorgonia.Nodes{b.Dropout(x, 0.2), b.Dropout(x, 0.2)}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	fill(p.Input("x").Float32s(), func() float64 { return 1 })
	require.NoError(t, p.Run(RunOptions{}))
	require.NotEqual(t, valuesOf(t, p.Roots().Outputs[0].Value()), valuesOf(t, p.Roots().Outputs[1].Value()), "each site has a mask of its own")
	b := On(gorgonia.NewGraph(), Options{})
	x := b.Input("x", tensor.Float32, 2, 3)
	require.Same(t, x, b.Dropout(x, 0.5))
	require.Same(t, x, On(b.Graph(), Options{Training: true}).Dropout(x, 0))
}

// TestForwardFLOPs counts each op's products.
func TestForwardFLOPs(t *testing.T) {
	want := map[string]int{
		"Linear/plain":                   2 * 3 * 5 * 2,
		"Linear/transposed":              2 * 3 * 10 * 7,
		"LinearGelu/both":                2 * 7 * 5 * 3,
		"Read/[2 7 3] [3 2 7]":           2 * 2 * 6 * 7 * 3,
		"Write/[3 5 7] [2 5] [3 2 7]":    2 * 3 * 2 * 5 * 7,
		"CausalAttention/heads and rows": 2 * (2 * 2 * 3 * 5) * (1 + 2 + 3),
		"CrossEntropy/transposed":        2 * 5 * 6 * 7,
		"TokenLosses/transposed=false":   2 * 7 * 3 * 5,
		"Gelu/exact=true [3 5]":          0,
		"Embedding/vectors":              0,
		"NormRead/LayerNorm(eps=1e-06) bias=false [3 5 7] [2 5]": 2 * 3 * 2 * 5 * 7,
	}
	seen := 0
	for _, c := range opCases() {
		flops, ok := want[c.name]
		if !ok {
			continue
		}
		c.noGradient = true
		var g caseGraph
		p, err := Compile(ProgramOptions{Options: c.options(tensor.Float32)}, func(b *Builder) (Roots, error) {
			var err error
			g, err = c.graph(b)
			outputs := gorgonia.Nodes{g.output}
			for _, n := range []*gorgonia.Node{g.tail, g.loss} {
				if n != nil {
					outputs = append(outputs, n)
				}
			}
			return Roots{Outputs: outputs}, err
		})
		require.NoError(t, err)
		require.Equal(t, flops, p.ForwardFLOPs(), c.name)
		p.Close()
		seen++
	}
	require.Equal(t, len(want), seen)
}

// TestLossParts checks that the two terms of a loss add up.
func TestLossParts(t *testing.T) {
	p := deepProgram(t, ProgramOptions{Options: Options{Threads: 1}}, 1)
	feedTokens(p, 1)
	require.NoError(t, p.Run(RunOptions{}))
	ce, z, err := LossParts(p.Roots().Loss)
	require.NoError(t, err)
	require.Positive(t, z)
	require.InDelta(t, scalarOf(t, p.Roots().Loss), ce+z, 1e-6)
}
