package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/optest"
)

// TestErrorsStick checks that a builder keeps its first error and makes nothing more.
func TestErrorsStick(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Hooks: graph.Hooks{"hooked": nil}, Training: true})
	x := b.Input("x", tensor.Float32, 3, 5)
	require.NoError(t, b.Err())
	require.Nil(t, linear.Bias(b, x, x))
	first := b.Err()
	optest.RequireLine(t, first, "graph: Bias: bias: want 5 entries")
	nodes := len(b.Graph().AllNodes())
	require.Nil(t, b.Input("y", tensor.Float32, 2))
	require.Nil(t, b.Param(graph.ParamSpec{Name: "p", Shape: []int{2}}))
	b.Fail(fmt.Errorf("later"))
	require.Equal(t, first, b.Err())
	require.Len(t, b.Graph().AllNodes(), nodes)
}

// TestNamesAreTaken checks that a name is refused if another builder or stock code has used it in
// the same graph, because Gorgonia would merge the nodes.
func TestNamesAreTaken(t *testing.T) {
	g := gorgonia.NewGraph()
	gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithShape(2, 3), gorgonia.WithName("stock"))
	require.NotNil(t, graph.On(g, graph.Options{}).Input("ours", tensor.Float32, 2, 3))
	for _, name := range []string{"stock", "ours"} {
		b := graph.On(g, graph.Options{})
		require.Nil(t, b.Param(graph.ParamSpec{Name: name, Shape: []int{2, 3}}))
		optest.RequireLine(t, b.Err(), "is taken", "name prefix")
	}
}

// TestDoRefusesBadValues passes values to an op that no graph would pass.
func TestDoRefusesBadValues(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Threads: 1})
	op := graph.OpOf(elementwise.Scale(b, b.Input("x", tensor.Float32, 2, 3), 2))
	loss := graph.OpOf(elementwise.Scale(b, loss.CrossEntropy(b, b.Input("f", tensor.Float32, 2, 3), b.Input("w", tensor.Float32, 3, 2), b.Input("t", tensor.Int32, 2), loss.Options{}), 2))
	require.NoError(t, b.Err())
	one := gorgonia.NewF64(1)
	for _, c := range []struct {
		op     *graph.Op
		values []gorgonia.Value
		want   string
	}{
		{op, nil, "want 1 inputs, got 0"},
		{op, []gorgonia.Value{nil}, "input 0: want float32 (2, 3), got no value: bind one with gorgonia.Let"},
		{op, []gorgonia.Value{tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(2, 3))}, "got a tensor of float64"},
		{op, []gorgonia.Value{tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(3, 3))}, "got shape (3, 3)"},
		{op, []gorgonia.Value{one}, "got *gorgonia.F64"},
		{loss, []gorgonia.Value{one}, "want float32 (), got *gorgonia.F64"},
	} {
		value, err := c.op.Do(c.values...)
		require.Nil(t, value)
		optest.RequireLine(t, err, "Scale(2): ", c.want)
	}
	value, err := loss.Do(gorgonia.NewF32(3))
	require.NoError(t, err)
	require.Equal(t, []float64{6}, optest.ValuesOf(t, value))
	value, err = op.Do(tensor.New(tensor.WithShape(6), tensor.WithBacking([]float32{1, 2, 3, 4, 5, 6}))) // the shape may differ, the size may not
	require.NoError(t, err)
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, optest.ValuesOf(t, value))
}

// TestBadOptions checks what On refuses.
func TestBadOptions(t *testing.T) {
	optest.RequireLine(t, graph.On(nil, graph.Options{}).Err(), "want a graph to build on, got nil")
	optest.RequireLine(t, graph.On(gorgonia.NewGraph(), graph.Options{DType: tensor.Int32}).Err(), "want float32 or float64, got int32")
	optest.RequireLine(t, graph.On(gorgonia.NewGraph(), graph.Options{Device: "abacus"}).Err(), `want "cpu", "cuda" or, of several GPUs, "cuda:1", got "abacus"`)
	optest.RequireLine(t, graph.On(gorgonia.NewGraph(), graph.Options{Store: graph.NewStore(tensor.Float64, 0)}).Err(), "the store holds float64, want float32")
	_, err := graph.NewCache(0, 5)
	optest.RequireLine(t, err, "batch 0, capacity 5")
	_, err = graph.NewCache(1, 0)
	optest.RequireLine(t, err, "batch 1, capacity 0")
	_, err = graph.Scalar(nil)
	optest.RequireLine(t, err, "got nil")
	_, _, err = loss.Parts(nil)
	optest.RequireLine(t, err, "got nil")
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	x := b.Input("x", tensor.Float32, 3)
	_, err = graph.Scalar(x)
	optest.RequireLine(t, err, `"x" has no value`)
	_, _, err = loss.Parts(x)
	optest.RequireLine(t, err, `want a CrossEntropy node, got "x"`)
	optest.RequireLine(t, graph.SetFloat64s(tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(2, 3)), []float64{1}), "want 6 values, got 1")
}
