package layers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

var normConfigs = map[string]layers.NormConfig{
	"layernorm": {Eps: 1e-6}, "large eps": {Eps: 0.3}, "bias": {Eps: 1e-5, Bias: true}, "rmsnorm": {Eps: 1e-6, RMS: true},
}

// TestNorm compares with the equation, over one axis and over two jointly.
func TestNorm(t *testing.T) {
	for name, c := range normConfigs {
		for _, shape := range [][]int{{7}, {3, 5}} {
			width := tensor.Shape(shape).TotalSize()
			e := compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
				return layers.NewNorm(b, "norm", c, shape...).Forward(b.Input("x", tensor.Float64, append([]int{4}, shape...)...))
			})
			x := noise(1, 4*width)
			require.InDeltaSlice(t, normalise(x, e.param("norm"), e.bias("norm_bias"), c.RMS, c.Eps), e.on(map[string][]float64{"x": x}), tolerance, "%s %v", name, shape)
		}
	}
}

// bias returns a parameter's values, nil if there is none.
func (e *evaluation) bias(name string) []float64 {
	if p := e.Store().Param(name); p != nil {
		return p.Value.Float64s()
	}
	return nil
}

// TestNormRead compares norm and read in one pass, and in two when the normalised stream
// is hooked, with y = keys Norm(X).
func TestNormRead(t *testing.T) {
	const tokens, m, dk, dv = 4, 3, 5, 2
	for name, c := range normConfigs {
		for _, hooks := range []graph.Hooks{nil, {"norm.out": nil}} {
			e := compile(t, hooks, func(b *graph.Builder) *gorgonia.Node {
				keys := b.Param(graph.ParamSpec{Name: "keys", Shape: []int{m, dk}, Init: graph.Normal(1)})
				return layers.NewNorm(b, "norm", c, dk, dv).Read(b.Input("x", tensor.Float64, tokens, dk, dv), keys)
			})
			x := noise(2, tokens*dk*dv)
			got := e.on(map[string][]float64{"x": x})
			normed, want := normalise(x, e.param("norm"), e.bias("norm_bias"), c.RMS, c.Eps), []float64{}
			for i := range tokens {
				want = append(want, product(e.param("keys"), normed[i*dk*dv:(i+1)*dk*dv], dk, dv)...)
			}
			require.InDeltaSlice(t, want, got, tolerance, "%s, hooked: %t", name, hooks != nil)
			if hooks != nil {
				seen, err := e.Hooked("norm.out")
				require.NoError(t, err)
				assert.InDeltaSlice(t, normed, seen.Float64s(), tolerance, name)
			}
		}
	}
}
