package layers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// TestFeedForward compares with y = W2 gelu(W1 u + b1) + b2; u may have several axes.
func TestFeedForward(t *testing.T) {
	const tokens, in, hidden = 4, 6, 9
	tanh := func(x float64) float64 {
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	exact := func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	for _, s := range []layers.FeedForwardSizes{{}, {Bias: true}, {ExactGelu: true}, {Bias: true, ExactGelu: true, AddsOutput: true}} {
		s.In, s.Init = in, layers.Init{Std: 1}
		gelu := tanh
		if s.ExactGelu {
			gelu = exact
		}
		e := compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
			return layers.GELUConfig{Hidden: hidden}.New(b, "ff", s).Forward(b.Input("u", tensor.Float64, tokens, 2, 3))
		})
		u := noise(3, tokens*in)
		h := added(product(u, e.param("ff.w1"), in, hidden), e.bias("ff.w1_bias"))
		for i := range h {
			h[i] = gelu(h[i])
		}
		want := added(product(h, e.param("ff.w2"), hidden, in), e.bias("ff.w2_bias"))
		require.InDeltaSlice(t, want, e.on(map[string][]float64{"u": u}), 20*tolerance, "%+v", s)
		assert.Equal(t, s.Bias, e.bias("ff.w1_bias") != nil && e.bias("ff.w2_bias") != nil)
	}
}

// TestReLU compares with y = W2 max(W1 u + b1, 0) + b2, and with the square of the max.
func TestReLU(t *testing.T) {
	const tokens, in, hidden = 4, 6, 9
	for d, f := range map[layers.FeedForwardDesign]func(v float64) float64{
		layers.ReLUConfig{Hidden: hidden}:  func(v float64) float64 { return max(v, 0) },
		layers.ReLU2Config{Hidden: hidden}: func(v float64) float64 { return max(v, 0) * max(v, 0) },
	} {
		for _, bias := range []bool{false, true} {
			s := layers.FeedForwardSizes{In: in, Bias: bias, Init: layers.Init{Std: 1}}
			e := compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
				return d.New(b, "ff", s).Forward(b.Input("u", tensor.Float64, tokens, 2, 3))
			})
			u := noise(3, tokens*in)
			h := added(product(u, e.param("ff.w1"), in, hidden), e.bias("ff.w1_bias"))
			for i, v := range h {
				h[i] = f(v)
			}
			want := added(product(h, e.param("ff.w2"), hidden, in), e.bias("ff.w2_bias"))
			require.InDeltaSlice(t, want, e.on(map[string][]float64{"u": u}), 20*tolerance, d.Name())
		}
	}
}

// TestSwiGLU compares with y = W2 (silu(W1 u + b1) ⊙ (W3 u + b3)) + b2.
func TestSwiGLU(t *testing.T) {
	const tokens, in, hidden = 4, 6, 9
	for _, bias := range []bool{false, true} {
		s := layers.FeedForwardSizes{In: in, Bias: bias, Init: layers.Init{Std: 1}}
		e := compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
			return layers.SwiGLUConfig{Hidden: hidden}.New(b, "ff", s).Forward(b.Input("u", tensor.Float64, tokens, 2, 3))
		})
		u := noise(3, tokens*in)
		gate := added(product(u, e.param("ff.w1"), in, hidden), e.bias("ff.w1_bias"))
		h := added(product(u, e.param("ff.w3"), in, hidden), e.bias("ff.w3_bias"))
		for i, g := range gate {
			h[i] *= g / (1 + math.Exp(-g))
		}
		want := added(product(h, e.param("ff.w2"), hidden, in), e.bias("ff.w2_bias"))
		require.InDeltaSlice(t, want, e.on(map[string][]float64{"u": u}), 20*tolerance)
		assert.Equal(t, bias, e.bias("ff.w3_bias") != nil)
	}
}

// added adds a bias, if there is one, to each row.
func added(x, bias []float64) []float64 {
	for i := range x {
		if bias != nil {
			x[i] += bias[i%len(bias)]
		}
	}
	return x
}

// TestFeedForwardDesigns: a design's description agrees with what it makes, and its errors name one
// of its own settings.
func TestFeedForwardDesigns(t *testing.T) {
	tooLarge := int64(layers.MaxSize + 1)
	for want, d := range map[string]layers.FeedForwardDesign{
		"hidden: want >= 1, got 0":                          layers.GELUConfig{},
		"hidden: want at most 2147483647, got 2147483648":   layers.GELUConfig{Hidden: int(tooLarge)},
		"hidden: want >= 1, got -2":                         layers.SwiGLUConfig{Hidden: -2},
		"hidden: want >= 1, got -3":                         layers.ReLU2Config{Hidden: -3},
		"hidden: want >= 1, got -4":                         layers.ReLUConfig{Hidden: -4},
		"hidden: want >= 1, got -1":                         layers.MoEConfig{Hidden: -1, Experts: 2},
		"experts: want >= 1, got 0":                         layers.MoEConfig{Hidden: 5},
		"top_k: want 1 to 4, the number of experts, got 5":  layers.MoEConfig{Hidden: 5, Experts: 4, TopK: 5},
		"top_k: want 1 to 4, the number of experts, got -1": layers.MoEConfig{Hidden: 5, Experts: 4, TopK: -1},
		"experts: want at most 2147483647, got 2147483648":  layers.MoEConfig{Hidden: 5, Experts: int(tooLarge)},
	} {
		var bad *layers.SettingError
		err := layers.WithDefaults(d).Check()
		require.ErrorAs(t, err, &bad)
		assert.EqualError(t, err, want)
	}
	for d, shape := range map[layers.FeedForwardDesign]layers.FeedForwardShape{
		layers.GELUConfig{Hidden: 5}:                     {Hidden: 5},
		layers.SwiGLUConfig{Hidden: 5}:                   {Hidden: 5},
		layers.ReLU2Config{Hidden: 5}:                    {Hidden: 5},
		layers.ReLUConfig{Hidden: 5}:                     {Hidden: 5},
		layers.MoEConfig{Hidden: 5, Experts: 3}:          {Hidden: 5, Experts: 3, Used: 2},
		layers.MoEConfig{Hidden: 5, Experts: 1}:          {Hidden: 5, Experts: 1, Used: 1},
		layers.MoEConfig{Hidden: 5, Experts: 3, TopK: 3}: {Hidden: 5, Experts: 3, Used: 3},
	} {
		d = layers.WithDefaults(d)
		assert.NoError(t, d.Check())
		assert.Equal(t, shape, d.Shape())
		for _, bias := range []bool{false, true} {
			s := layers.FeedForwardSizes{In: 6, Bias: bias}
			b := graph.On(gorgonia.NewGraph(), graph.Options{})
			_, routed := d.New(b, "ff", s).(layers.Routed)
			require.NoError(t, b.Err())
			assert.Equal(t, shape.Experts > 0, routed)
			assert.Equal(t, float64(b.Store().Size()), d.Cost(s).Parameters, "%+v", d)
		}
	}
}
