package stream

import (
	"math"

	"github.com/residua-go/residua/graph"
)

// normMap is a norm whose scale is held at what it was for one input (Elhage et al. 2021,
// "A Mathematical Framework for Transformer Circuits", on folding layer norm):
//
//	LayerNorm: y = (x - mean(x)) / std gain;   RMSNorm: y = x / rms gain
//
// with std and rms numbers of the run. Its bias is no part of the map.
type normMap struct {
	gain   []float64
	scale  []float64 // 1/std or 1/rms, [T, groups]
	centre bool
	groups int
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
