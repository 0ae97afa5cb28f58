package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

var _ stream.Stream = (*stream.Hieragg)(nil)

func hieraggConfig() stream.HieraggConfig {
	return stream.HieraggConfig{Vectors: vectors(), Inner: 5}
}

// aggregated is AGG(x, y, z) by the equation.
func aggregated(t *testing.T, s *graph.Store, c stream.HieraggConfig, x, y, z []float64) []float64 {
	var joined, b1, b2 []float64
	for at := 0; at < len(x); at += c.D {
		joined = append(append(append(joined, x[at:at+c.D]...), y[at:at+c.D]...), z[at:at+c.D]...)
	}
	if c.Bias {
		b1, b2 = value(t, s, "aggregate.w1_bias"), value(t, s, "aggregate.w2_bias")
	}
	inner := sigmoids(mapped(joined, value(t, s, "aggregate.w1"), b1, 3*c.D, c.Inner))
	mixed := mapped(inner, value(t, s, "aggregate.w2"), b2, c.Inner, c.D)
	return layerNorm(sum(sum(sum(mixed, x), y), z), value(t, s, "aggregate.norm"), eps)
}

// TestHieraggGroups runs two groups of blocks whose sublayers write known features: the
// second group's input is the first's aggregate, and features are the last's.
func TestHieraggGroups(t *testing.T) {
	for _, bias := range []bool{false, true} {
		c := hieraggConfig()
		c.Layers, c.Bias = 4, bias
		h, writes := noise(1, siteTokens*c.D), map[string][]float64{}
		names := []string{"y0", "y1", "y2", "y3"}
		for i, name := range names {
			writes[name] = noise(uint64(2+i), siteTokens*c.D)
		}
		floats := map[string][]float64{"h": h}
		got, s := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			a := stream.NewHieragg(b, c)
			in := b.Input("h", tensor.Float64, siteTokens, c.D)
			var state stream.State = stream.VectorState{H: in, More: gorgonia.Nodes{in}}
			for block, name := range names {
				floats[name] = writes[name]
				state = a.WriteFeatures(state, a.Sites(block)[1], nil, b.Input(name, tensor.Float64, siteTokens, c.D))
				state = a.EndBlock(state, block)
			}
			return a.Features(state)
		}, floats, nil)
		z := h
		for group := range 2 {
			x := sum(z, writes[names[2*group]])
			y := sum(x, writes[names[2*group+1]])
			z = aggregated(t, s, c, x, y, z)
		}
		assert.InDeltaSlice(t, z, got, 5*tolerance, "bias: %t", bias)
	}
}

// TestHieraggSites: in and out are the vector stream's.
func TestHieraggSites(t *testing.T) {
	c := hieraggConfig()
	h, y := noise(1, siteTokens*c.D), noise(2, siteTokens*c.D)
	checkWays(t, h, y, []int{c.D}, func(b *graph.Builder, h *gorgonia.Node) (stream.Stream, stream.State) {
		return stream.NewHieragg(b, c), stream.VectorState{H: h, More: gorgonia.Nodes{h, h}}
	}, map[string]func(s *graph.Store) []float64{
		"heads read": func(s *graph.Store) []float64 {
			return mapped(layerNorm(h, value(t, s, "blocks.1.attention.norm"), eps), value(t, s, "blocks.1.attention.qkv"), nil, c.D, 3*c.D)
		},
		"features read":         func(s *graph.Store) []float64 { return layerNorm(h, value(t, s, "blocks.1.feedforward.norm"), eps) },
		"features of the model": func(s *graph.Store) []float64 { return aggregated(t, s, c, h, h, h) },
		"heads written": func(s *graph.Store) []float64 {
			return sum(h, mapped(y, value(t, s, "blocks.1.attention.o"), nil, c.D, c.D))
		},
		"features written": func(*graph.Store) []float64 { return sum(h, y) },
	})
}

// TestHieraggStates: what a block must hand on to the group's end.
func TestHieraggStates(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	a := stream.NewHieragg(b, hieraggConfig())
	s := a.Embed(stream.Tokens{IDs: b.Input("ids", tensor.Int32, 1, 3), Positions: b.Input("places", tensor.Int32, 1, 3)}).(stream.VectorState)
	require.NoError(t, b.Err())
	assert.Equal(t, gorgonia.Nodes{s.H, s.H}, s.Nodes(), "the first group's input is the embedding")
	first := a.EndBlock(s, 0).(stream.VectorState)
	assert.Equal(t, gorgonia.Nodes{s.H, s.H, s.H}, first.Nodes())
	second := a.EndBlock(first, 1).(stream.VectorState)
	require.NoError(t, b.Err())
	assert.NotEqual(t, s.H, second.H)
	assert.Equal(t, gorgonia.Nodes{second.H, second.H}, second.Nodes(), "the aggregate is the next group's input")
}

// TestHieraggParameters: one aggregate, no other final norm.
func TestHieraggParameters(t *testing.T) {
	c := hieraggConfig()
	c.Bias, c.Norm.Bias = true, true
	vector, hieragg := graph.On(gorgonia.NewGraph(), graph.Options{}), graph.On(gorgonia.NewGraph(), graph.Options{})
	stream.NewVector(vector, stream.VectorConfig{Vectors: c.Vectors})
	a := stream.NewHieragg(hieragg, c)
	require.NoError(t, hieragg.Err())
	assert.Equal(t, "embedding", a.Table().Name())
	want := shapes(vector.Store())
	delete(want, "norm")
	delete(want, "norm_bias")
	want["aggregate.w1"], want["aggregate.w1_bias"] = []int{18, 5}, []int{5}
	want["aggregate.w2"], want["aggregate.w2_bias"] = []int{5, 6}, []int{6}
	want["aggregate.norm"], want["aggregate.norm_bias"] = []int{6}, []int{6}
	assert.Equal(t, want, shapes(hieragg.Store()))
	w1, w2 := hieragg.Store().Param("aggregate.w1"), hieragg.Store().Param("aggregate.w2")
	assert.Equal(t, c.Init.Hidden("aggregate.w1", 18, 2, 18, 5), w1.ParamSpec)
	assert.Equal(t, c.Init.Output("aggregate.w2", 5, 4, 5, 6), w2.ParamSpec)
	for _, name := range []string{"aggregate.w1_bias", "aggregate.w2_bias", "aggregate.norm", "aggregate.norm_bias"} {
		assert.False(t, hieragg.Store().Param(name).Decay, name)
	}
}

// TestHieraggWantsWholeGroups refuses a block too many.
func TestHieraggWantsWholeGroups(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	c := hieraggConfig()
	c.Layers = 3
	stream.NewHieragg(b, c)
	assert.EqualError(t, b.Err(), "stream: hieragg: want a multiple of 2 layers, the blocks of a group, got 3")
}
