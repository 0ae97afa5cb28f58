package stream

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/stream/linear"
)

// values returns a parameter's values, those of a planned one zeros; nil for nil.
func values(b *graph.Builder, name string) []float64 {
	switch p := b.Store().Param(name); {
	case p == nil:
		return nil
	case p.Value == nil:
		return make([]float64, p.Size())
	default:
		return graph.Float64s(p.Value)
	}
}

// freezeNorm freezes a layer's norm at its inputs x [T, ...], and returns its bias, or nil.
func freezeNorm(b *graph.Builder, n *layers.Norm, x []float64) (linear.Norm, []float64) {
	o := n.Options()
	var bias []float64
	if o.Bias != nil {
		bias = values(b, o.Bias.Name())
	}
	return linear.Norm{Gain: values(b, n.Gain().Name()), Centre: !o.RMS, Groups: 1}.At(x, orEps(o.Eps)), bias
}

// orEps is a norm's eps, or its default.
func orEps(eps float64) float64 {
	if eps == 0 {
		return 1e-6
	}
	return eps
}

// thenNorm is a norm, after which nothing follows.
func thenNorm(b *graph.Builder, n *layers.Norm) After {
	return func(u []float64) (linear.Chain, []float64) {
		m, bias := freezeNorm(b, n, u)
		return linear.Chain{m}, bias
	}
}
