package stream_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream"
)

var _ stream.Stream = (*stream.DWLSTM)(nil)

func dwlstmConfig() stream.DWLSTMConfig {
	return stream.DWLSTMConfig{Vectors: vectors(), Inner: 7}
}

// depthStep is a step of block 1's cell, by the equations.
func depthStep(t *testing.T, s *graph.Store, d stream.DWLSTMConfig, h, c, o []float64) (newH, newC []float64) {
	optional := func(name string) []float64 {
		if !d.Bias {
			return nil
		}
		return value(t, s, name)
	}
	const lstm = "blocks.1.lstm."
	a := mapped(o, value(t, s, "blocks.1.attention.o"), optional("blocks.1.attention.o_bias"), d.D, d.D)
	var joined []float64
	for at := 0; at < len(h); at += d.D {
		joined = append(append(joined, a[at:at+d.D]...), h[at:at+d.D]...)
	}
	open := func(name string) []float64 {
		x := layerNorm(mapped(joined, value(t, s, lstm+name+".w"), nil, 2*d.D, d.D), value(t, s, lstm+name+".norm"), eps)
		for i := range x {
			x[i] += value(t, s, lstm+name+".bias")[i%d.D]
		}
		return sigmoids(x)
	}
	hidden := layerNorm(mapped(joined, value(t, s, lstm+"hidden.w1"), nil, 2*d.D, d.Inner), value(t, s, lstm+"hidden.norm"), eps)
	for i, x := range hidden {
		hidden[i] = 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
		if d.ExactGelu {
			hidden[i] = 0.5 * x * (1 + math.Erf(x/math.Sqrt2))
		}
	}
	g := mapped(hidden, value(t, s, lstm+"hidden.w2"), optional(lstm+"hidden.w2_bias"), d.Inner, d.D)
	newC = sum(times(open("forget"), c), times(open("input"), g))
	return times(open("output"), newC), newC
}

// TestDWLSTMStep is one block's step on a known stream: h and c.
func TestDWLSTMStep(t *testing.T) {
	for _, choice := range []struct{ bias, exact bool }{{false, false}, {true, true}} {
		d := dwlstmConfig()
		d.Bias, d.ExactGelu = choice.bias, choice.exact
		h, c, o := noise(1, siteTokens*d.D), noise(2, siteTokens*d.D), noise(3, siteTokens*d.D)
		for i, part := range []string{"h", "c"} {
			got, s := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
				v := stream.NewDWLSTM(b, d)
				state := stream.VectorState{H: b.Input("h", tensor.Float64, siteTokens, d.D), More: gorgonia.Nodes{b.Input("c", tensor.Float64, siteTokens, d.D)}}
				return v.WriteHeads(state, v.Sites(1)[0], nil, b.Input("o", tensor.Float64, siteTokens, d.D)).Nodes()[i]
			}, map[string][]float64{"h": h, "c": c, "o": o}, nil)
			newH, newC := depthStep(t, s, d, h, c, o)
			assert.InDeltaSlice(t, [][]float64{newH, newC}[i], got, 10*tolerance, "%s, %+v", part, choice)
		}
	}
}

// TestDWLSTMWays: attention reads h without a norm, the features are the norm of h.
func TestDWLSTMWays(t *testing.T) {
	d := dwlstmConfig()
	h := noise(1, siteTokens*d.D)
	for name, want := range map[string]func(s *graph.Store) []float64{
		"heads": func(s *graph.Store) []float64 {
			return mapped(h, value(t, s, "blocks.1.attention.qkv"), nil, d.D, 3*d.D)
		},
		"features": func(s *graph.Store) []float64 { return layerNorm(h, value(t, s, "norm"), eps) },
	} {
		got, s := evaluate(t, func(b *graph.Builder) *gorgonia.Node {
			v, in := stream.NewDWLSTM(b, d), b.Input("h", tensor.Float64, siteTokens, d.D)
			if name == "features" {
				return v.Features(v.EndBlock(stream.VectorState{H: in, More: gorgonia.Nodes{in}}, 1))
			}
			qkv, _ := v.ReadHeads(stream.VectorState{H: in, More: gorgonia.Nodes{in}}, v.Sites(1)[0])
			return qkv
		}, map[string][]float64{"h": h}, nil)
		assert.InDeltaSlice(t, want(s), got, tolerance, name)
	}
}

// TestDWLSTMSites: attention alone; another site is an error.
func TestDWLSTMSites(t *testing.T) {
	site := stream.Site{Block: 3, Sublayer: stream.FeedForward, Index: 7}
	for _, call := range []func(v *stream.DWLSTM){
		func(v *stream.DWLSTM) { v.ReadFeatures(stream.VectorState{}, site) },
	} {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		v := stream.NewDWLSTM(b, dwlstmConfig())
		require.NoError(t, b.Err())
		assert.Equal(t, []stream.Site{{Block: 3, Sublayer: stream.Attention, Index: 3}}, v.Sites(3))
		call(v)
		assert.EqualError(t, b.Err(), "stream: dwlstm: blocks.3.feedforward: want a site that Sites lists, attention alone, got a feed-forward's")
	}
}

// TestDWLSTMEmbed: h and c start as the embedded tokens.
func TestDWLSTMEmbed(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	s := stream.NewDWLSTM(b, dwlstmConfig()).Embed(stream.Tokens{IDs: b.Input("ids", tensor.Int32, 1, 3), Positions: b.Input("places", tensor.Int32, 1, 3)}).(stream.VectorState)
	require.NoError(t, b.Err())
	assert.Same(t, s.H, s.More[0])
	assert.Equal(t, tensor.Shape{3, 6}, s.H.Shape())
}

// TestDWLSTMDropout: the candidate loses entries and the others are doubled at rate 1/2;
// where it is lost the cell keeps what it had, f ⊙ c.
func TestDWLSTMDropout(t *testing.T) {
	d := dwlstmConfig()
	d.Dropout = 0.5
	const tokens = 20
	h, c, o := noise(1, tokens*d.D), noise(2, tokens*d.D), noise(3, tokens*d.D)
	run := func(training bool, c []float64) []float64 {
		got, _ := evaluateWith(t, graph.Options{Training: training}, func(b *graph.Builder) *gorgonia.Node {
			v := stream.NewDWLSTM(b, d)
			state := stream.VectorState{H: b.Input("h", tensor.Float64, tokens, d.D), More: gorgonia.Nodes{b.Input("c", tensor.Float64, tokens, d.D)}}
			return v.WriteHeads(state, v.Sites(1)[0], nil, b.Input("o", tensor.Float64, tokens, d.D)).Nodes()[1]
		}, map[string][]float64{"h": h, "c": c, "o": o}, nil)
		return got
	}
	all, added, got := run(false, c), run(false, make([]float64, len(c))), run(true, c) // f c + i g, i g, f c + i m g
	kept := 0
	for i := range got {
		if math.Abs(got[i]-(all[i]-added[i])) < 1e-11 {
			continue
		}
		require.InDelta(t, all[i]+added[i], got[i], 1e-11)
		kept++
	}
	assert.InDelta(t, 0.5, float64(kept)/float64(len(got)), 0.2, "share of entries kept")
}

// TestDWLSTMParameters: names, shapes, how each starts and whether it decays.
func TestDWLSTMParameters(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	d := dwlstmConfig()
	d.Layers, d.Bias, d.Norm.Bias = 1, true, true
	v := stream.NewDWLSTM(b, d)
	require.NoError(t, b.Err())
	assert.Equal(t, "embedding", v.Table().Name())
	assert.Equal(t, map[string][]int{
		"embedding": {5, 6}, "positions": {4, 6}, "blocks.0.attention.qkv": {6, 18}, "blocks.0.attention.qkv_bias": {18},
		"blocks.0.attention.o": {6, 6}, "blocks.0.attention.o_bias": {6},
		"blocks.0.lstm.input.w": {12, 6}, "blocks.0.lstm.input.norm": {6}, "blocks.0.lstm.input.bias": {6},
		"blocks.0.lstm.forget.w": {12, 6}, "blocks.0.lstm.forget.norm": {6}, "blocks.0.lstm.forget.bias": {6},
		"blocks.0.lstm.output.w": {12, 6}, "blocks.0.lstm.output.norm": {6}, "blocks.0.lstm.output.bias": {6},
		"blocks.0.lstm.hidden.w1": {12, 7}, "blocks.0.lstm.hidden.norm": {7}, "blocks.0.lstm.hidden.norm_bias": {7},
		"blocks.0.lstm.hidden.w2": {7, 6}, "blocks.0.lstm.hidden.w2_bias": {6}, "norm": {6}, "norm_bias": {6},
	}, shapes(b.Store()))
	ratios := map[string]float64{"blocks.0.attention.qkv": 2, "blocks.0.attention.o": 3, "blocks.0.lstm.input.w": 2,
		"blocks.0.lstm.forget.w": 2, "blocks.0.lstm.output.w": 2, "blocks.0.lstm.hidden.w1": 2, "blocks.0.lstm.hidden.w2": 4}
	for _, p := range b.Store().Params() {
		assert.Equal(t, ratios[p.Name], p.WidthRatio, "width ratio of %q", p.Name)
		assert.Equal(t, ratios[p.Name] != 0, p.Decay, "decay of %q", p.Name)
	}
	for name, want := range map[string]float64{"input": 0, "forget": 1, "output": 0} {
		assert.Equal(t, graph.Initializer{Offset: want}, b.Store().Param("blocks.0.lstm."+name+".bias").Init)
		assert.Equal(t, layers.Gain("blocks.0.lstm."+name+".norm", 6), b.Store().Param("blocks.0.lstm."+name+".norm").ParamSpec)
	}
}
