package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/optest"
)

// TestPlanAllocatesNothing: a Store that plans accepts a parameter of any size that an int can
// count; a graph over it can be built but does not run.
func TestPlanAllocatesNothing(t *testing.T) {
	plan := graph.NewPlan(tensor.Float32)
	stored(t, plan, graph.ParamSpec{Name: "w", Shape: []int{1 << 20, 1 << 23}, Init: graph.Normal(1)})
	require.EqualValues(t, int64(1)<<43, plan.Size())
	require.Zero(t, plan.Bytes())
	require.Nil(t, plan.Param("w").Value)
	_, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: plan}}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Param(graph.ParamSpec{Name: "w", Shape: []int{1 << 20, 1 << 23}})
		return graph.Roots{Outputs: gorgonia.Nodes{elementwise.Scale(b, x, 2)}}, nil
	})
	optest.RequireLine(t, err, "want a store with values, got one that only plans")
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: plan.Serve()})
	require.Nil(t, b.Param(graph.ParamSpec{Name: "w", Shape: []int{1 << 20, 1 << 23}}))
	optest.RequireLine(t, b.Err(), `parameter "w": want its values, got a plan's shape`)
}

// TestServedStoreAddsNoParameter: a Store made by Serve shares the parameters of the original and
// refuses others by name.
func TestServedStoreAddsNoParameter(t *testing.T) {
	s := graph.NewStore(tensor.Float32, 1)
	spec := graph.ParamSpec{Name: "w", Shape: []int{2, 3}, Init: graph.Normal(1)}
	stored(t, s, spec)
	served := s.Serve()
	stored(t, served, spec)
	require.Same(t, s.Param("w"), served.Param("w"))
	b := graph.On(gorgonia.NewGraph(), graph.Options{Store: served})
	require.Nil(t, b.Param(graph.ParamSpec{Name: "v", Shape: []int{1}}))
	optest.RequireLine(t, b.Err(), `parameter "v": the store does not have it: want the config of the model that the store holds`)
	require.Len(t, s.Params(), 1)
	stored(t, s, graph.ParamSpec{Name: "v", Shape: []int{1}}) // the original Store still makes it
	require.NotNil(t, served.Param("v"))
}

// TestSizesBeyondAnyMemory: shapes with more entries than an int can count are refused when the
// graph is built; no product of sizes overflows.
func TestSizesBeyondAnyMemory(t *testing.T) {
	for name, build := range map[string]func(b *graph.Builder) *gorgonia.Node{
		"parameter": func(b *graph.Builder) *gorgonia.Node {
			return b.Param(graph.ParamSpec{Name: "w", Shape: []int{math.MaxInt/2 + 1, 4}})
		},
		"input": func(b *graph.Builder) *gorgonia.Node { return b.Input("x", tensor.Float32, math.MaxInt/2+1, 4) },
		"output": func(b *graph.Builder) *gorgonia.Node {
			return linear.Map(b, b.Input("x", tensor.Float32, 1<<30, 1), b.Input("w", tensor.Float32, 1, 1<<30), linear.Options{})
		},
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{Store: graph.NewPlan(tensor.Float32)})
		require.Nil(t, build(b), name)
		optest.RequireLine(t, b.Err(), "which is more than any machine's memory holds")
	}
}
