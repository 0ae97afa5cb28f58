package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestPlanAllocatesNothing: a Store that plans takes a parameter of any size that an int can
// count, by name and shape; a graph over it is built and does not run.
func TestPlanAllocatesNothing(t *testing.T) {
	plan := NewPlan(tensor.Float32)
	stored(t, plan, ParamSpec{Name: "w", Shape: []int{1 << 20, 1 << 23}, Init: Normal(1)})
	require.Equal(t, 1<<43, plan.Size())
	require.Zero(t, plan.Bytes())
	require.Nil(t, plan.Param("w").Value)
	_, err := Compile(ProgramOptions{Options: Options{Store: plan}}, func(b *Builder) (Roots, error) {
		x := b.Param(ParamSpec{Name: "w", Shape: []int{1 << 20, 1 << 23}})
		return Roots{Outputs: gorgonia.Nodes{b.Scale(x, 2)}}, nil
	})
	requireLine(t, err, "want a store with values, got one that only plans")
	b := On(gorgonia.NewGraph(), Options{Store: plan.Serve()})
	require.Nil(t, b.Param(ParamSpec{Name: "w", Shape: []int{1 << 20, 1 << 23}}))
	requireLine(t, b.Err(), `parameter "w": want its values, got a plan's shape`)
}

// TestServedStoreAddsNoParameter: it shares parameters with the Store behind it and refuses
// others by name.
func TestServedStoreAddsNoParameter(t *testing.T) {
	s := NewStore(tensor.Float32, 1)
	spec := ParamSpec{Name: "w", Shape: []int{2, 3}, Init: Normal(1)}
	stored(t, s, spec)
	served := s.Serve()
	stored(t, served, spec)
	require.Same(t, s.Param("w"), served.Param("w"))
	b := On(gorgonia.NewGraph(), Options{Store: served})
	require.Nil(t, b.Param(ParamSpec{Name: "v", Shape: []int{1}}))
	requireLine(t, b.Err(), `parameter "v": the store does not have it: want the config of the model that the store holds`)
	require.Len(t, s.Params(), 1)
	stored(t, s, ParamSpec{Name: "v", Shape: []int{1}}) // the Store behind it still makes it
	require.NotNil(t, served.Param("v"))
}

// TestSizesBeyondAnyMemory: shapes whose entries an int cannot count are refused where the
// graph is built: no product of sizes comes out small again.
func TestSizesBeyondAnyMemory(t *testing.T) {
	for name, build := range map[string]func(b *Builder) *gorgonia.Node{
		"parameter": func(b *Builder) *gorgonia.Node {
			return b.Param(ParamSpec{Name: "w", Shape: []int{1 << 32, 1 << 32}})
		},
		"input": func(b *Builder) *gorgonia.Node { return b.Input("x", tensor.Float32, 1<<62, 4) },
		"output": func(b *Builder) *gorgonia.Node {
			return b.Linear(b.Input("x", tensor.Float32, 1<<30, 1), b.Input("w", tensor.Float32, 1, 1<<34), LinearOptions{})
		},
	} {
		b := On(gorgonia.NewGraph(), Options{Store: NewPlan(tensor.Float32)})
		require.Nil(t, build(b), name)
		requireLine(t, b.Err(), "which is more than any machine's memory holds")
	}
}
