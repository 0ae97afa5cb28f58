package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

func stored(t *testing.T, s *graph.Store, specs ...graph.ParamSpec) {
	t.Helper()
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: s, DType: s.DType()})
	for _, spec := range specs {
		b.Param(spec)
	}
	require.NoError(t, b.Err())
}

// TestStoreInitialValues checks that values depend on the seed and the name alone.
func TestStoreInitialValues(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		a := graph.ParamSpec{Name: "a", Shape: []int{5, 7}, Init: graph.Normal(2)}
		b := graph.ParamSpec{Name: "b", Shape: []int{5, 7}, Init: graph.Normal(2)}
		one, other, third := graph.NewStore(dt, 1), graph.NewStore(dt, 1), graph.NewStore(dt, 2)
		stored(t, one, a, b)
		stored(t, other, b)
		stored(t, other, a)
		stored(t, third, a, b)
		values := func(s *graph.Store, name string) []float64 { return graph.Float64s(s.Param(name).Value) }
		require.Equal(t, values(one, "a"), values(other, "a"))
		require.Equal(t, values(one, "b"), values(other, "b"))
		require.NotEqual(t, values(one, "a"), values(one, "b"))
		require.NotEqual(t, values(one, "a"), values(third, "a"))
		require.Equal(t, []string{"a", "b"}, []string{one.Params()[0].Name, one.Params()[1].Name})
		require.Equal(t, []string{"b", "a"}, []string{other.Params()[0].Name, other.Params()[1].Name})
		require.Nil(t, one.Param("c"))
		require.Equal(t, 70, one.Size())
		require.Equal(t, 70*int(dt.Size()), one.Bytes())
	}
}

// TestInitializers checks the distributions.
func TestInitializers(t *testing.T) {
	s := graph.NewStore(tensor.Float64, 1)
	shape := []int{100, 1000}
	stored(t, s, graph.ParamSpec{Name: "zeros", Shape: shape, Init: graph.Zeros()}, graph.ParamSpec{Name: "ones", Shape: shape, Init: graph.Ones()},
		graph.ParamSpec{Name: "normal", Shape: shape, Init: graph.Normal(0.02)}, graph.ParamSpec{Name: "shifted", Shape: shape, Init: graph.Initializer{Offset: 3, Std: 0.5}})
	for name, want := range map[string]graph.Initializer{"zeros": {}, "ones": {Offset: 1}, "normal": {Std: 0.02}, "shifted": {Offset: 3, Std: 0.5}} {
		values := graph.Float64s(s.Param(name).Value)
		mean, variance := 0.0, 0.0
		for _, v := range values {
			mean += v / float64(len(values))
		}
		for _, v := range values {
			variance += (v - mean) * (v - mean) / float64(len(values))
		}
		require.InDelta(t, want.Offset, mean, 0.02*want.Std+1e-9, name)
		require.InDelta(t, want.Std, math.Sqrt(variance), 0.02*want.Std+1e-9, name)
	}
}

// TestInitializerSecond: of two weights side by side, each has its own standard deviation.
func TestInitializerSecond(t *testing.T) {
	s := graph.NewStore(tensor.Float64, 1)
	one, both := graph.ParamSpec{Name: "w", Shape: []int{500, 40}, Init: graph.Normal(0.5)}, graph.ParamSpec{Name: "w", Shape: []int{500, 40}, Init: graph.Initializer{Std: 0.5, Second: 0.02}}
	stored(t, s, both)
	other := graph.NewStore(tensor.Float64, 1)
	stored(t, other, one)
	want := graph.Float64s(other.Param("w").Value)
	for i := range want {
		if i%40 >= 20 {
			want[i] *= 0.02 / 0.5
		}
	}
	require.InDeltaSlice(t, want, graph.Float64s(s.Param("w").Value), 1e-15)
}

// TestStoreIsShared checks that graphs over one Store see the same parameter, and that a graph that
// requests another shape is refused.
func TestStoreIsShared(t *testing.T) {
	s := graph.NewStore(tensor.Float32, 1)
	train, eval := graph.On(gorgonia.NewGraph(), graph.Options{Store: s}), graph.On(gorgonia.NewGraph(), graph.Options{Store: s})
	spec := graph.ParamSpec{Name: "w", Shape: []int{5, 1}, Init: graph.Normal(1), Decay: true, WidthRatio: 2}
	x, y := train.Param(spec), eval.Param(spec)
	require.NoError(t, train.Err())
	require.NoError(t, eval.Err())
	// Each graph has its own tensors around the Store's numbers.
	for _, n := range []*gorgonia.Node{x, y} {
		require.Equal(t, s.Param("w").Value.Uintptr(), n.Value().Uintptr())
	}
	require.NotSame(t, x.Value(), y.Value())
	require.Equal(t, spec, s.Param("w").ParamSpec)
	require.Equal(t, gorgonia.Nodes{x}, train.Learnables())
	require.Equal(t, "w", x.Name())

	for _, shape := range [][]int{{7}, {5, 2}, {5}, {1, 5}} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{Store: s})
		require.Nil(t, b.Param(graph.ParamSpec{Name: "w", Shape: shape}))
		optest.RequireLine(t, b.Err(), `parameter "w": the store has shape (5, 1), the graph wants`)
	}
	require.Nil(t, train.Param(spec))
	optest.RequireLine(t, train.Err(), `the name "w" is taken`)
	require.Len(t, s.Params(), 1)
}

// TestFloat64s checks reading and writing values, and that Float64s copies.
func TestFloat64s(t *testing.T) {
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		x := tensor.New(tensor.Of(dt), tensor.WithShape(2, 3))
		require.NoError(t, graph.SetFloat64s(x, []float64{1, 2, 3, 4, 5, 6.5}))
		values := graph.Float64s(x)
		require.Equal(t, []float64{1, 2, 3, 4, 5, 6.5}, values)
		values[0] = 9
		require.Equal(t, 1.0, graph.Float64s(x)[0])
	}
}
