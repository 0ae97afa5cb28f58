package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// TestBufferPlanOnRandomGraphs checks that shared buffers give the same bits as separate ones, with
// and without recomputation, and checks the plan itself.
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

// checkPlan checks that no two intervals use the same memory at the same time.
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

// checkOrder checks that the tape machine runs nodes in the order in which they were made, as the
// plan and recomputation require.
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
