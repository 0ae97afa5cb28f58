//go:build cuda

package attention

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// TestAWindowIsRefusedOnADevice: when the graph is built, an error names the op.
func TestAWindowIsRefusedOnADevice(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{Device: graph.CUDA})
	require.NoError(t, b.Err())
	t.Cleanup(func() { require.NoError(t, b.Store().Close()) })
	qkv := b.Param(graph.ParamSpec{Name: "qkv", Shape: []int{4, 6}, Init: graph.Normal(1)})
	require.Nil(t, Causal(b, qkv, Options{Heads: 1, Seq: 4, Scale: 1, Window: 2, Sinks: 1}))
	optest.RequireLine(t, b.Err(), "graph: CausalAttention(heads=1", "window=2, sinks=1", "want an op with a Launch method on the device cuda, got one that runs on the CPU alone: choose the device cpu")
}
