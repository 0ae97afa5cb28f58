package stream_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

// vectorConfig is a small vector stream, of 2 blocks.
func vectorConfig() stream.VectorConfig {
	return stream.VectorConfig{Vectors: vectors()}
}

// vectors are the settings of small streams of vectors.
func vectors() stream.Vectors {
	return stream.Vectors{D: 6, Common: stream.Common{Heads: 2, Layers: 2, Vocab: 5, Positions: 4, Norm: layers.NormConfig{Eps: eps},
		Init: layers.Init{Std: 1, Embedding: 1, Layers: 2}, InputScale: 1.5, Ratios: stream.Ratios{WidthRatio: 2, HeadsRatio: 3, InnerRatio: 4}}}
}

// mapped is x W + bias for each row of x; bias may be nil.
func mapped(x, w, bias []float64, in, out int) []float64 {
	y := make([]float64, len(x)/in*out)
	for i := range y {
		row, column := i/out, i%out
		for k := range in {
			y[i] += x[row*in+k] * w[k*out+column]
		}
		if bias != nil {
			y[i] += bias[column]
		}
	}
	return y
}

func sum(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range z {
		z[i] = x[i] + y[i]
	}
	return z
}

func TestVectorEmbed(t *testing.T) {
	for _, positions := range []int{4, 0} {
		c := vectorConfig()
		c.Positions = positions
		ids, places := []int32{4, 0, 4}, []int32{0, 3, 2}
		got, store := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			tokens := stream.Tokens{IDs: b.Input("ids", tensor.Int32, 1, 3)}
			if positions > 0 {
				tokens.Positions = b.Input("places", tensor.Int32, 1, 3)
			}
			return stream.NewVector(b, c).Embed(tokens).(stream.VectorState).H
		}, nil, map[string][]int32{"ids": ids, "places": places})
		var want []float64
		for i := range ids {
			for d := range c.D {
				v := 1.5 * value(t, store, "embedding")[int(ids[i])*c.D+d] // the input scale
				if positions > 0 {
					v += value(t, store, "positions")[int(places[i])*c.D+d]
				}
				want = append(want, v)
			}
		}
		assert.InDeltaSlice(t, want, got, tolerance, "%d positions", positions)
	}
}

// TestVectorSites reads from and writes to a known stream, with and without biases.
func TestVectorSites(t *testing.T) {
	for _, bias := range []bool{false, true} {
		c := vectorConfig()
		c.Bias = bias
		checkVectorSites(t, c)
	}
}

func checkVectorSites(t *testing.T, c stream.VectorConfig) {
	h, y := noise(1, siteTokens*c.D), noise(2, siteTokens*c.D)
	bias := func(s *graph.Store, name string) []float64 {
		if !c.Bias {
			assert.Nil(t, s.Param(name))
			return nil
		}
		return value(t, s, name)
	}
	normed := func(name string) func(s *graph.Store) []float64 {
		return func(s *graph.Store) []float64 { return layerNorm(h, value(t, s, name), eps) }
	}
	checkWays(t, h, y, []int{c.D}, func(b *graph.Builder, h *gorgonia.Node) (stream.Stream, stream.State) {
		return stream.NewVector(b, c), stream.VectorState{H: h}
	}, map[string]func(s *graph.Store) []float64{
		"heads read": func(s *graph.Store) []float64 {
			const name = "blocks.1.attention.qkv"
			return mapped(normed("blocks.1.attention.norm")(s), value(t, s, name), bias(s, name+"_bias"), c.D, 3*c.D)
		},
		"features read":         normed("blocks.1.feedforward.norm"),
		"features of the model": normed("norm"),
		"heads written": func(s *graph.Store) []float64 {
			const name = "blocks.1.attention.o"
			return sum(h, mapped(y, value(t, s, name), bias(s, name+"_bias"), c.D, c.D))
		},
		"features written": func(*graph.Store) []float64 { return sum(h, y) },
	})
}

// TestVectorParameters: names and shapes are what checkpoints hold.
func TestVectorParameters(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	c := vectorConfig()
	c.Layers, c.Bias, c.Norm.Bias = 1, true, true
	v := stream.NewVector(b, c)
	assert.NoError(t, b.Err())
	assert.Equal(t, "embedding", v.Table().Name())
	assert.Equal(t, map[string][]int{
		"embedding": {5, 6}, "positions": {4, 6}, "blocks.0.attention.norm": {6}, "blocks.0.attention.norm_bias": {6},
		"blocks.0.attention.qkv": {6, 18}, "blocks.0.attention.qkv_bias": {18}, "blocks.0.attention.o": {6, 6}, "blocks.0.attention.o_bias": {6},
		"blocks.0.feedforward.norm": {6}, "blocks.0.feedforward.norm_bias": {6}, "norm": {6}, "norm_bias": {6},
	}, shapes(b.Store()))
	ratios := map[string]float64{"blocks.0.attention.qkv": 2, "blocks.0.attention.o": 3}
	for _, p := range b.Store().Params() {
		assert.Equal(t, ratios[p.Name], p.WidthRatio, "width ratio of %q", p.Name)
		assert.Equal(t, ratios[p.Name] != 0, p.Decay, "decay of %q", p.Name)
	}
}
