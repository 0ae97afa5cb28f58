package stream

import (
	"math"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// normMap is a norm whose scale is held at what it was for one input (Elhage et al. 2021,
// "A Mathematical Framework for Transformer Circuits", on folding layer norm):
//
//	LayerNorm: y = scale_t gain o (x - mean(x));   RMSNorm: y = scale_t gain o x
//
// with the number scale_t = 1/sqrt(var + eps), or 1/sqrt(mean square + eps), of the run's own
// input at token t. That makes it linear in x. Its bias is no part of the map.
type normMap struct {
	gain   []float64
	scale  []float64 // 1/std or 1/rms, [T, groups]
	centre bool
	groups int // runs of len(gain)/groups entries, each with a mean and a scale of its own
}

// holdNorm holds a norm at its inputs x [T, len(gain)].
func holdNorm(x, gain []float64, o graph.NormOptions) normMap {
	m := normMap{gain: gain, centre: !o.RMS, groups: max(1, o.Groups)}
	if o.Eps == 0 {
		o.Eps = 1e-6
	}
	width := len(gain) / m.groups
	for i := 0; i < len(x); i += width {
		m.scale = append(m.scale, heldScale(x[i:][:width], o))
	}
	return m
}

// heldScale is 1/sqrt(var(x) + eps), or 1/sqrt(mean(x^2) + eps).
func heldScale(x []float64, o graph.NormOptions) float64 {
	mean, squares := 0.0, 0.0
	if !o.RMS {
		mean = meanOf(x)
	}
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	return 1 / math.Sqrt(squares/float64(len(x))+o.Eps)
}

func meanOf(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func (m normMap) sizes() (in, out int) { return len(m.gain), len(m.gain) }

func (m normMap) apply(token int, x []float64) []float64 {
	y := m.centred(x)
	width := len(x) / m.groups
	for i := range y {
		y[i] *= m.scale[token*m.groups+i/width] * m.gain[i]
	}
	return y
}

func (m normMap) transpose(token int, y []float64) []float64 {
	x := make([]float64, len(y))
	width := len(y) / m.groups
	for i, v := range y {
		x[i] = v * m.scale[token*m.groups+i/width] * m.gain[i]
	}
	return m.centred(x)
}

// centred is x less its mean, in each group, in memory of its own.
func (m normMap) centred(x []float64) []float64 {
	y := append([]float64(nil), x...)
	if !m.centre {
		return y
	}
	width := len(x) / m.groups
	for i := 0; i < len(y); i += width {
		group := y[i:][:width]
		mean := meanOf(group)
		for j := range group {
			group[j] -= mean
		}
	}
	return y
}

// values returns a parameter's values; nil for nil.
func values(b *graph.Builder, name string) []float64 {
	if p := b.Store().Param(name); p != nil {
		return graph.Float64s(p.Value)
	}
	return nil
}

// holdLayerNorm holds a layer's norm at its inputs x, and returns its bias, or nil.
func holdLayerNorm(b *graph.Builder, n *layers.Norm, x []float64) (normMap, []float64) {
	o := n.Options()
	var bias []float64
	if o.Bias != nil {
		bias = values(b, o.Bias.Name())
	}
	return holdNorm(x, values(b, n.Gain().Name()), o), bias
}
