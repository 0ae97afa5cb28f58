//go:build cuda

package graph_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
)

// TestAnOpWithoutLaunchIsRefusedOnADevice: when the graph is built, an error names the op and says
// what to do.
func TestAnOpWithoutLaunchIsRefusedOnADevice(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Device: graph.CUDA})
	require.NoError(t, b.Err())
	t.Cleanup(func() { require.NoError(t, b.Store().Close()) })
	x := b.Param(graph.ParamSpec{Name: "x", Shape: []int{2, 5}, Init: graph.Initializer{Std: 1}})
	assert.Nil(t, b.Apply(power{n: 2}, x))
	assert.EqualError(t, b.Err(), "graph: Power(2): want an op with a Launch method on the device cuda, got one that runs on the CPU alone: choose the device cpu")
}
