package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// Both streams have the whole interface.
var (
	_ stream.Stream = (*stream.Matrix)(nil)
	_ stream.Stream = (*stream.Vector)(nil)
)

// TestSites: attention, then feed-forward, counted through the whole model; names are
// the prefixes of parameters and hooks.
func TestSites(t *testing.T) {
	want := []stream.Site{{Block: 3, Sublayer: stream.Attention, Index: 6}, {Block: 3, Sublayer: stream.FeedForward, Index: 7}}
	m := stream.NewMatrix(graph.On(gorgonia.NewGraph(), graph.Options{}), matrixConfig())
	v := stream.NewVector(graph.On(gorgonia.NewGraph(), graph.Options{}), vectorConfig())
	assert.Equal(t, want, m.Sites(3))
	assert.Equal(t, want, v.Sites(3))
	assert.Equal(t, "blocks.3.attention", want[0].Name())
	assert.Equal(t, "blocks.3.feedforward", want[1].Name())
	assert.Equal(t, "blocks.3.attention.2", stream.PartName(want[0].Name(), stream.HeadPart, 2))
	assert.Equal(t, "blocks.3.feedforward neuron 17", stream.PartName(want[1].Name(), "neuron", 17))
}

// way is one of a stream's ways in or out, at the sites of one block; y makes the node
// of what is written.
type way func(s stream.Stream, x stream.State, at []stream.Site, y func() *gorgonia.Node) *gorgonia.Node

var ways = map[string]way{
	"heads read": func(s stream.Stream, x stream.State, at []stream.Site, _ func() *gorgonia.Node) *gorgonia.Node {
		qkv, _ := s.ReadHeads(x, at[0])
		return qkv
	},
	"features read": func(s stream.Stream, x stream.State, at []stream.Site, _ func() *gorgonia.Node) *gorgonia.Node {
		u, _ := s.ReadFeatures(x, at[1])
		return u
	},
	"features of the model": func(s stream.Stream, x stream.State, _ []stream.Site, _ func() *gorgonia.Node) *gorgonia.Node {
		return s.Features(s.EndBlock(x, 1))
	},
	"heads written": func(s stream.Stream, x stream.State, at []stream.Site, y func() *gorgonia.Node) *gorgonia.Node {
		return s.WriteHeads(x, at[0], nil, y()).Nodes()[0]
	},
	"features written": func(s stream.Stream, x stream.State, at []stream.Site, y func() *gorgonia.Node) *gorgonia.Node {
		return s.WriteFeatures(x, at[1], nil, y()).Nodes()[0]
	},
}

// siteTokens is how many tokens the streams of checkWays carry.
const siteTokens = 3

// checkWays compares each way at block 1 with what want says. makeStream wraps the state
// x, which is given as values, and y holds siteTokens tokens.
func checkWays(t *testing.T, x, y []float64, shape []int, makeStream func(b *graph.Builder, x *gorgonia.Node) (stream.Stream, stream.State), want map[string]func(s *graph.Store) []float64) {
	for name, run := range ways {
		got, store := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			s, state := makeStream(b, b.Input("x", tensor.Float64, append([]int{siteTokens}, shape...)...))
			return run(s, state, s.Sites(1), func() *gorgonia.Node {
				return b.Input("y", tensor.Float64, siteTokens, len(y)/siteTokens)
			})
		}, map[string][]float64{"x": x, "y": y}, nil)
		assert.InDeltaSlice(t, want[name](store), got, tolerance, name)
	}
}
