package graph_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/attention"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// TestHashCollision builds two nodes with the same 32-bit hash, which Gorgonia would take for one
// node, and checks that the program builds them again with other hashes.
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
		sum := b.Add(b.Input("7dc27bc088", tensor.Float32, 2), b.Input("2947a38d3a", tensor.Float32, 2)) // the same hash; we must keep both
		return graph.Roots{Outputs: gorgonia.Nodes{sum}}, b.Err()
	})
	optest.RequireLine(t, err, "2947a38d3a", "change its name")
}

// TestCompileErrors checks the errors of Compile.
func TestCompileErrors(t *testing.T) {
	simple := func(b *graph.Builder) (graph.Roots, error) { return deepGraph(b, 6, 1), nil }
	stranger := gorgonia.NewTensor(gorgonia.NewGraph(), tensor.Float32, 1, gorgonia.WithShape(2), gorgonia.WithName("stranger"))
	for _, c := range []struct {
		o     graph.ProgramOptions
		build graph.BuildFunc
		want  string
	}{
		{graph.ProgramOptions{Recompute: "some"}, simple, `recompute: want "none", "cheap" or "block", got "some"`},
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

// TestRunErrors checks that bad token ids are errors of the run that name the id, and that the
// program runs again with good ids.
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

// TestClosedProgram checks the errors of a closed program.
func TestClosedProgram(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 2}}, 1)
	require.NoError(t, p.Run(graph.RunOptions{}))
	p.Close()
	p.Close()
	optest.RequireLine(t, p.Run(graph.RunOptions{}), "want an open program, got a closed one")
	require.Nil(t, p.Ints("no such input"))
	require.Nil(t, p.Input("no such input"))
}

// TestCloseEndsGoroutines checks that a closed program leaves no worker running.
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
