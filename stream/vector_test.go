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
	return stream.VectorConfig{Layers: 2, D: 6, Vocab: 5, Positions: 4, Norm: layers.NormConfig{Eps: eps},
		Init: layers.Init{Std: 1, Embedding: 1, Layers: 2}, InputScale: 1.5, WidthRatio: 2, HeadsRatio: 3}
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

// TestVectorSites reads from and writes to a known stream at block 1, with and without
// biases.
func TestVectorSites(t *testing.T) {
	for _, bias := range []bool{false, true} {
		c := vectorConfig()
		c.Bias = bias
		checkVectorSites(t, c)
	}
}

func checkVectorSites(t *testing.T, c stream.VectorConfig) {
	const tokens = 3
	h, y := noise(1, tokens*c.D), noise(2, tokens*c.D)
	run := func(f func(v *stream.Vector, s stream.State, at []stream.Site, y func() *gorgonia.Node) *gorgonia.Node) ([]float64, *graph.Store) {
		inputs := map[string][]float64{"h": h}
		return evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			v := stream.NewVector(b, c)
			return f(v, stream.VectorState{H: b.Input("h", tensor.Float64, tokens, c.D)}, v.Sites(1), func() *gorgonia.Node {
				inputs["y"] = y
				return b.Input("y", tensor.Float64, tokens, c.D)
			})
		}, inputs, nil)
	}
	bias := func(s *graph.Store, name string) []float64 {
		if !c.Bias {
			assert.Nil(t, s.Param(name))
			return nil
		}
		return value(t, s, name)
	}

	got, s := run(func(v *stream.Vector, s stream.State, at []stream.Site, _ func() *gorgonia.Node) *gorgonia.Node {
		qkv, _ := v.ReadHeads(s, at[0])
		return qkv
	})
	normed := layerNorm(h, value(t, s, "blocks.1.attention.norm"), eps)
	assert.InDeltaSlice(t, mapped(normed, value(t, s, "blocks.1.attention.qkv"), bias(s, "blocks.1.attention.qkv_bias"), c.D, 3*c.D), got, tolerance, "q, k, v")
	got, s = run(func(v *stream.Vector, s stream.State, at []stream.Site, _ func() *gorgonia.Node) *gorgonia.Node {
		u, _ := v.ReadFeatures(s, at[1])
		return u
	})
	assert.InDeltaSlice(t, layerNorm(h, value(t, s, "blocks.1.feedforward.norm"), eps), got, tolerance, "u")
	got, s = run(func(v *stream.Vector, s stream.State, _ []stream.Site, _ func() *gorgonia.Node) *gorgonia.Node {
		return v.Features(v.EndBlock(s, 1))
	})
	assert.InDeltaSlice(t, layerNorm(h, value(t, s, "norm"), eps), got, tolerance, "features")
	got, s = run(func(v *stream.Vector, s stream.State, at []stream.Site, y func() *gorgonia.Node) *gorgonia.Node {
		return v.WriteHeads(s, at[0], nil, y()).(stream.VectorState).H
	})
	projected := mapped(y, value(t, s, "blocks.1.attention.o"), bias(s, "blocks.1.attention.o_bias"), c.D, c.D)
	assert.InDeltaSlice(t, sum(h, projected), got, tolerance, "written heads")
	got, _ = run(func(v *stream.Vector, s stream.State, at []stream.Site, y func() *gorgonia.Node) *gorgonia.Node {
		return v.WriteFeatures(s, at[1], nil, y()).Nodes()[0]
	})
	assert.InDeltaSlice(t, sum(h, y), got, tolerance, "written features")
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
