package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/embedding"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
	"github.com/residua-go/residua/graph/ops/norm"
	"github.com/residua-go/residua/graph/optest"
)

// TestRunAllocations bounds the allocations of one run of a Program that has run before: a few
// small objects of the tape machine for each node.
func TestRunAllocations(t *testing.T) {
	p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 1}, Gradients: true}, 8)
	require.NoError(t, p.Run(graph.RunOptions{}))
	allocations := testing.AllocsPerRun(5, func() {
		if err := p.Run(graph.RunOptions{}); err != nil {
			panic(err)
		}
	})
	t.Logf("%d nodes: %.1f allocations each", p.Nodes(), allocations/float64(p.Nodes()))
	require.Less(t, allocations, float64(6*p.Nodes()))
	require.Less(t, optest.AllocatedBy(func() { require.NoError(t, p.Run(graph.RunOptions{})) }), 256*p.Nodes())
}

// deepProgram is a stack of blocks x + W2 gelu(W1 norm(x)) over a vector stream.
func deepProgram(t *testing.T, o graph.ProgramOptions, blocks int) *graph.Program {
	t.Helper()
	p, err := graph.Compile(o, func(b *graph.Builder) (graph.Roots, error) { return deepGraph(b, 6, blocks), b.Err() })
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// deepGraph makes a stack of blocks over tokens "tokens" [tokens], with "targets".
func deepGraph(b *graph.Builder, tokens, blocks int) graph.Roots {
	const width, vocab = 8, 11
	param := func(name string, shape ...int) *gorgonia.Node {
		return b.Param(graph.ParamSpec{Name: name, Shape: shape, Init: graph.Normal(0.3)})
	}
	x := embedding.Gather(b, param("embedding", vocab, width), b.Input("tokens", tensor.Int32, tokens), 1)
	for i := range blocks {
		b.Block(func() {
			name := string(rune('a' + i))
			u := norm.Apply(b, x, param(name+".gain", width), norm.Options{Bias: param(name+".bias", width)})
			h := linear.Map(b, u, param(name+".w1", width, 4*width), linear.Options{Bias: param(name+".b1", 4*width)})
			y := linear.Map(b, elementwise.Gelu(b, h, false), param(name+".w2", 4*width, width), linear.Options{})
			x = b.Add(x, elementwise.Dropout(b, y, 0.1))
		})
	}
	loss := loss.CrossEntropy(b, x, param("unembedding", width, vocab), b.Input("targets", tensor.Int32, tokens), loss.Options{ZLoss: 1e-3})
	return graph.Roots{Loss: loss}
}
