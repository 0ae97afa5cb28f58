package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"

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
	want := []stream.Site{{Block: 3, Kind: stream.Attention, Index: 6}, {Block: 3, Kind: stream.FeedForward, Index: 7}}
	m := stream.NewMatrix(graph.On(gorgonia.NewGraph(), graph.Options{}), matrixConfig())
	v := stream.NewVector(graph.On(gorgonia.NewGraph(), graph.Options{}), vectorConfig())
	assert.Equal(t, want, m.Sites(3))
	assert.Equal(t, want, v.Sites(3))
	assert.Equal(t, "blocks.3.attention", want[0].Name())
	assert.Equal(t, "blocks.3.feedforward", want[1].Name())
}
