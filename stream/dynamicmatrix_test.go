package stream_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
)

// keysOf are one token's keys [m, Dk] by their equation, static + scale ⊙ tanh(Xn W), of its
// normalised stream Xn [Dk, Dv].
func keysOf(t *testing.T, c stream.MatrixConfig, s *graph.Store, name string, xn []float64) []float64 {
	static, w, scale := value(t, s, name+".static"), value(t, s, name+".w"), value(t, s, name+".scale")
	var keys []float64
	m := len(static) / c.Dk
	for h := range m {
		for i := range c.Dk {
			z := 0.0
			for v := range c.Dv {
				z += xn[i*c.Dv+v] * w[v*m+h]
			}
			keys = append(keys, static[i*m+h]+scale[i*m+h]*math.Tanh(z))
		}
	}
	return keys
}

// TestDynamicMatrixSites: each token of a known stream reads and writes with keys of its own.
func TestDynamicMatrixSites(t *testing.T) {
	c := matrixConfig()
	size := c.Dk * c.Dv
	x, y := noise(1, siteTokens*size), noise(2, siteTokens*c.Rank*c.Dv)
	for i, name := range []string{"blocks.1.attention", "blocks.1.feedforward"} {
		var site stream.Site
		build := func(write bool) func(b *graph.Builder) *gorgonia.Node {
			return func(b *graph.Builder) *gorgonia.Node {
				d := stream.NewDynamicMatrix(b, stream.DynamicMatrixConfig(c))
				site = d.Sites(1)[i]
				state := stream.VectorState{H: b.Input("x", tensor.Float64, siteTokens, c.Dk, c.Dv)}
				read, put := d.ReadHeads, d.WriteHeads
				if site.Sublayer == stream.FeedForward {
					read, put = d.ReadFeatures, d.WriteFeatures
				}
				u, link := read(state, site)
				if !write {
					return u
				}
				return put(state, site, link, b.Input("y", tensor.Float64, siteTokens, c.Rank*c.Dv)).Nodes()[0]
			}
		}
		read, store := evaluate(t, build(false), map[string][]float64{"x": x}, nil)
		written, _ := evaluate(t, build(true), map[string][]float64{"x": x, "y": y}, nil)
		require.Equal(t, name, site.Name())
		xn := layerNorm(x, value(t, store, name+".norm"), eps)
		var wantRead, wantWritten []float64
		for token := range siteTokens {
			one, of := xn[token*size:][:size], y[token*c.Rank*c.Dv:][:c.Rank*c.Dv]
			wantRead = append(wantRead, retrieved(c, one, keysOf(t, c, store, name+".read", one))...)
			wantWritten = append(wantWritten, stored(c, x[token*size:][:size], keysOf(t, c, store, name+".write", one), of)...)
		}
		assert.InDeltaSlice(t, wantRead, read, tolerance, name)
		assert.InDeltaSlice(t, wantWritten, written, tolerance, name)
	}
}

// TestDynamicMatrixParameters: names and shapes are what checkpoints hold, and what starts at which
// value.
func TestDynamicMatrixParameters(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	c := stream.DynamicMatrixConfig(matrixConfig())
	c.Layers, c.KVHeads = 1, 1
	stream.NewDynamicMatrix(b, c)
	require.NoError(t, b.Err())
	want := map[string][]int{
		"embedding": {5, 2, 3}, "write_embedding": {2, 4}, "positions": {6, 2, 3}, "write_positions": {2, 4}, "norm": {4, 3}, "read_unembedding": {2, 4},
		"blocks.0.attention.norm": {4, 3}, "blocks.0.feedforward.norm": {4, 3},
	}
	for name, m := range map[string]int{"attention.read": 4, "attention.write": 2, "feedforward.read": 2, "feedforward.write": 2} {
		name = "blocks.0." + name
		want[name+".static"], want[name+".w"], want[name+".scale"] = []int{4, m}, []int{3, m}, []int{4, m}
		assert.Zero(t, b.Store().Param(name+".w").Init.Std)
		assert.True(t, b.Store().Param(name+".w").Decay)
		assert.False(t, b.Store().Param(name+".scale").Decay)
		assert.Equal(t, 0.01, b.Store().Param(name+".scale").Init.Offset)
	}
	assert.Equal(t, want, shapes(b.Store()))
	keys := b.Store().Param("blocks.0.feedforward.write.static")
	assert.InDelta(t, 1/math.Sqrt(2)/2, keys.Init.Std, 1e-15, "of fan-in R, and what is written of 2L = 4 terms")
	assert.Equal(t, graph.Matrix{Rows: 4, Columns: 2, Stride: 2, FanIn: 2, FanOut: 4}, keys.Matrices()[0])
	assert.Equal(t, 4, b.Store().Param("blocks.0.attention.read.static").Matrices()[0].FanIn)
}
