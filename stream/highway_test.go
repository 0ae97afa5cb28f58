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

var _ stream.Stream = (*stream.Highway)(nil)

func highwayConfig() stream.HighwayConfig { return stream.HighwayConfig{Vectors: vectors()} }

func sigmoids(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = 1 / (1 + math.Exp(-v))
	}
	return y
}

func times(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] * y[i]
	}
	return z
}

// columns are columns [from, to) of a matrix of the given width.
func columns(x []float64, width, from, to int) []float64 {
	var y []float64
	for at := 0; at < len(x); at += width {
		y = append(y, x[at+from:at+to]...)
	}
	return y
}

// selfDependency is sigmoid(W1 x) ⊙ (W2 x) for each row of x.
func selfDependency(x, w, bias []float64, d int) []float64 {
	both := mapped(x, w, bias, d, 2*d)
	return times(sigmoids(columns(both, 2*d, 0, d)), columns(both, 2*d, d, 2*d))
}

// highwaySite reads and writes at one site of block 1.
func highwaySite(b *graph.Builder, s *stream.Highway, h, y *gorgonia.Node, kind stream.Sublayer) (read, written *gorgonia.Node) {
	state := stream.VectorState{H: h}
	if kind == stream.Attention {
		qkv, link := s.ReadHeads(state, s.Sites(1)[0])
		return qkv, s.WriteHeads(state, s.Sites(1)[0], link, y).(stream.VectorState).H
	}
	u, link := s.ReadFeatures(state, s.Sites(1)[1])
	return u, s.WriteFeatures(state, s.Sites(1)[1], link, y).(stream.VectorState).H
}

// TestHighwaySites reads from and writes to a known stream, with and without biases, and
// with the written sum looked at, which changes no bit.
func TestHighwaySites(t *testing.T) {
	for _, bias := range []bool{false, true} {
		for _, kind := range []stream.Sublayer{stream.Attention, stream.FeedForward} {
			c := highwayConfig()
			c.Bias = bias
			read, written, s := runHighway(t, c, kind, nil)
			site := "blocks.1." + string(kind)
			of := func(name string) []float64 {
				if s.Param(name) == nil {
					assert.False(t, bias, name)
					return nil
				}
				return value(t, s, name)
			}
			h, f := noise(1, siteTokens*c.D), noise(2, siteTokens*c.D)
			normal := layerNorm(h, of(site+".norm"), eps)
			u := normal
			if kind == stream.Attention {
				u = mapped(normal, of(site+".qkv"), of(site+".qkv_bias"), c.D, 3*c.D)
				f = mapped(f, of(site+".o"), of(site+".o_bias"), c.D, c.D)
			}
			assert.InDeltaSlice(t, u, read, tolerance, "%s read", site)
			want := sum(sum(h, f), selfDependency(normal, of(site+".sdu"), of(site+".sdu_bias"), c.D))
			assert.InDeltaSlice(t, want, written, tolerance, "%s written", site)
			_, hooked, _ := runHighway(t, c, kind, graph.Hooks{site + ".write": nil})
			assert.Equal(t, written, hooked, "%s hooked", site)
		}
	}
}

// runHighway runs a site on h and y of noise.
func runHighway(t *testing.T, c stream.HighwayConfig, kind stream.Sublayer, hooks graph.Hooks) (read, written []float64, s *graph.Store) {
	t.Helper()
	floats := map[string][]float64{"h": noise(1, siteTokens*c.D), "y": noise(2, siteTokens*c.D)}
	build := func(read bool) func(b *graph.Builder) *gorgonia.Node {
		return func(b *graph.Builder) *gorgonia.Node {
			in, out := highwaySite(b, stream.NewHighway(b, c), b.Input("h", tensor.Float64, siteTokens, c.D), b.Input("y", tensor.Float64, siteTokens, c.D), kind)
			if read {
				return in
			}
			return out
		}
	}
	read, _ = evaluateWith(t, graph.Options{Hooks: hooks}, build(true), floats, nil)
	written, s = evaluateWith(t, graph.Options{Hooks: hooks}, build(false), floats, nil)
	return read, written, s
}

// TestHighwayFeatures is the vector stream's final norm.
func TestHighwayFeatures(t *testing.T) {
	c := highwayConfig()
	h := noise(1, siteTokens*c.D)
	got, s := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
		v := stream.NewHighway(b, c)
		return v.Features(v.EndBlock(stream.VectorState{H: b.Input("h", tensor.Float64, siteTokens, c.D)}, 1))
	}, map[string][]float64{"h": h}, nil)
	assert.InDeltaSlice(t, layerNorm(h, value(t, s, "norm"), eps), got, tolerance)
}

// TestHighwayDropout: of what a site writes, the unit's output included, entries are lost
// and the others doubled at rate 1/2; the stream loses none.
func TestHighwayDropout(t *testing.T) {
	c := highwayConfig()
	c.Dropout = 0.5
	const tokens = 20
	h, y := noise(1, tokens*c.D), noise(2, tokens*c.D)
	got, s := evaluateWith(t, graph.Options{Training: true}, func(b *graph.Builder) *gorgonia.Node {
		_, written := highwaySite(b, stream.NewHighway(b, c), b.Input("h", tensor.Float64, tokens, c.D), b.Input("y", tensor.Float64, tokens, c.D), stream.FeedForward)
		return written
	}, map[string][]float64{"h": h, "y": y}, nil)
	const site = "blocks.1.feedforward"
	add := sum(y, selfDependency(layerNorm(h, value(t, s, site+".norm"), eps), value(t, s, site+".sdu"), nil, c.D))
	kept := 0
	for i := range got {
		if written := got[i] - h[i]; math.Abs(written) > tolerance {
			require.InDelta(t, 2*add[i], written, 10*tolerance)
			kept++
		}
	}
	assert.InDelta(t, 0.5, float64(kept)/float64(len(got)), 0.2, "share of entries kept")
}

// TestHighwayParameters: a vector stream's and a unit a site, whose second half starts as
// small as an output.
func TestHighwayParameters(t *testing.T) {
	c := highwayConfig()
	c.Bias, c.Init.Std, c.Init.Layers = true, 0.6, 8
	vector, highway := graph.On(gorgonia.NewGraph(), graph.Options{}), graph.On(gorgonia.NewGraph(), graph.Options{})
	stream.NewVector(vector, stream.VectorConfig{Vectors: c.Vectors})
	s := stream.NewHighway(highway, c)
	require.NoError(t, highway.Err())
	assert.Equal(t, "embedding", s.Table().Name())
	want := shapes(vector.Store())
	for _, block := range []string{"blocks.0.", "blocks.1."} {
		for _, kind := range []string{"attention.sdu", "feedforward.sdu"} {
			want[block+kind], want[block+kind+"_bias"] = []int{6, 12}, []int{12}
			p := highway.Store().Param(block + kind)
			assert.True(t, p.Decay)
			assert.Equal(t, 2.0, p.WidthRatio)
			assert.InDelta(t, 0.6/math.Sqrt(6), p.Init.Std, 1e-15)
			assert.InDelta(t, p.Init.Std/4, p.Init.Second, 1e-15)
			assert.False(t, highway.Store().Param(block+kind+"_bias").Decay)
		}
	}
	assert.Equal(t, want, shapes(highway.Store()))
}
