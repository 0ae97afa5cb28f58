package attention

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/optest"
)

// TestBadWindows checks the errors of Causal.
func TestBadWindows(t *testing.T) {
	for want, o := range map[string]Options{
		"window: want >= 1 tokens and >= 0 sinks, or 0 of both, got -1 and 0": {Window: -1},
		"window: want >= 1 tokens and >= 0 sinks, or 0 of both, got 0 and 2":  {Sinks: 2},
		"window: want >= 1 tokens and >= 0 sinks, or 0 of both, got 3 and -2": {Window: 3, Sinks: -2},
	} {
		o.Heads, o.Seq = 1, 4
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		require.Nil(t, Causal(b, b.Input("qkv", tensor.Float32, 4, 6), o))
		optest.RequireLine(t, b.Err(), "graph: CausalAttention", want)
	}
}
