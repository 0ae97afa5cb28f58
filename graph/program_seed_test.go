package graph_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/optest"
)

// TestSameSeedSameBits checks that two programs with the same seed agree, and that one with another
// seed differs.
func TestSameSeedSameBits(t *testing.T) {
	run := func(seed uint64) []float64 {
		p := deepProgram(t, graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true, Seed: seed}, Gradients: true}, 3)
		feedTokens(p, 1)
		require.NoError(t, p.Run(graph.RunOptions{Step: 4}))
		return lossAndGrads(t, p)
	}
	require.Equal(t, run(1), run(1))
	require.NotEqual(t, run(1), run(2))
}

// TestSeedOfANewStore: without a Store, the seed also draws the parameters, as NewStore does; it
// changes nothing in a given Store.
func TestSeedOfANewStore(t *testing.T) {
	draw := func(o graph.Options) []float32 {
		b := graph.On(gorgonia.NewGraph(), o)
		b.Param(graph.ParamSpec{Name: "w", Shape: []int{2, 3}, Init: graph.Normal(1)})
		require.NoError(t, b.Err())
		return b.Store().Param("w").Value.Data().([]float32)
	}
	require.Equal(t, draw(graph.Options{Store: graph.NewStore(tensor.Float32, 7)}), draw(graph.Options{Seed: 7}))
	require.Equal(t, draw(graph.Options{Store: graph.NewStore(tensor.Float32, 7)}), draw(graph.Options{Store: graph.NewStore(tensor.Float32, 7), Seed: 8}))
	require.NotEqual(t, draw(graph.Options{Seed: 7}), draw(graph.Options{Seed: 8}))
}

// TestDropout checks that the mask depends only on the step while a program runs and keeps about
// the right number of entries, and that dropout returns x itself without Training.
func TestDropout(t *testing.T) {
	var y *gorgonia.Node
	p, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true}}, func(b *graph.Builder) (graph.Roots, error) {
		y = elementwise.Dropout(b, b.Input("x", tensor.Float32, 100, 100), 0.2)
		return graph.Roots{Outputs: gorgonia.Nodes{y}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	optest.Fill(p.Input("x").Float32s(), func() float64 { return 1 })
	run := func(step uint64) []float64 {
		require.NoError(t, p.Run(graph.RunOptions{Step: step}))
		return optest.ValuesOf(t, y.Value())
	}
	first := run(1)
	require.Equal(t, first, run(1))
	require.NotEqual(t, first, run(2))
	kept := 0
	for _, v := range first {
		if v != 0 {
			require.InDelta(t, 1.25, v, 1e-6)
			kept++
		}
	}
	require.InDelta(t, 8000, kept, 160, "4 standard deviations")
	p, err = graph.Compile(graph.ProgramOptions{Options: graph.Options{Threads: 2, Training: true}}, func(b *graph.Builder) (graph.Roots, error) {
		x := b.Input("x", tensor.Float32, 100, 100)
		return graph.Roots{Outputs: gorgonia.Nodes{elementwise.Dropout(b, x, 0.2), elementwise.Dropout(b, x, 0.2)}}, b.Err()
	})
	require.NoError(t, err)
	defer p.Close()
	optest.Fill(p.Input("x").Float32s(), func() float64 { return 1 })
	require.NoError(t, p.Run(graph.RunOptions{}))
	require.NotEqual(t, optest.ValuesOf(t, p.Roots().Outputs[0].Value()), optest.ValuesOf(t, p.Roots().Outputs[1].Value()), "each site has a mask of its own")
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	x := b.Input("x", tensor.Float32, 2, 3)
	require.Same(t, x, elementwise.Dropout(b, x, 0.5))
	require.Same(t, x, elementwise.Dropout(graph.On(b.Graph(), graph.Options{Training: true}), x, 0))
}
