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
	for _, c := range []layers.FeedForwardConfig{{}, {Bias: true}, {ExactGelu: true}, {Bias: true, ExactGelu: true, Writes: true}} {
		c.In, c.Hidden = in, hidden
		gelu := tanh
		if c.ExactGelu {
			gelu = exact
		}
		e := compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
			return layers.NewFeedForward(b, "ff", c, layers.Init{Std: 1}).Forward(b.Input("u", tensor.Float64, tokens, 2, 3))
		})
		u := noise(3, tokens*in)
		h := added(product(u, e.param("ff.w1"), in, hidden), e.bias("ff.w1_bias"))
		for i := range h {
			h[i] = gelu(h[i])
		}
		want := added(product(h, e.param("ff.w2"), hidden, in), e.bias("ff.w2_bias"))
		require.InDeltaSlice(t, want, e.on(map[string][]float64{"u": u}), 20*tolerance, "%+v", c)
		assert.Equal(t, c.Bias, e.bias("ff.w1_bias") != nil && e.bias("ff.w2_bias") != nil)
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
