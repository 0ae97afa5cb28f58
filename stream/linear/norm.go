package linear

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Norm is a norm whose scale is frozen at its value for one input (Elhage et al. 2021, "A
// Mathematical Framework for Transformer Circuits", on folding layer norm):
//
//	LayerNorm: y = scale_t Gain ⊙ (x - mean(x));   RMSNorm: y = scale_t Gain ⊙ x
//
// with the number scale_t = 1/sqrt(var + eps), or 1/sqrt(mean square + eps), of the run's own input
// at token t (At). That makes it linear in x. The bias does not belong to the map.
type Norm struct {
	Gain   []float64
	Centre bool      // a LayerNorm; otherwise an RMSNorm
	Groups int       // number of groups of len(Gain)/Groups entries, each with its own mean and scale
	scale  []float64 // [T, Groups]; nil: 1
}

// At returns the norm with its scales frozen at the inputs x [T, len(Gain)]. Without inputs, for
// weights without a run, the scales are 1.
func (m Norm) At(x []float64, eps float64) Norm {
	m.scale = nil
	width := len(m.Gain) / m.Groups
	for i := 0; i < len(x); i += width {
		group, mean := x[i:][:width], 0.0
		if m.Centre {
			mean = meanOf(group)
		}
		squares := 0.0
		for _, v := range group {
			squares += (v - mean) * (v - mean)
		}
		m.scale = append(m.scale, 1/math.Sqrt(squares/float64(width)+eps))
	}
	return m
}

func meanOf(x []float64) float64 { return floats.Sum(x) / float64(len(x)) }

// Sizes returns the length of Gain twice: a norm keeps the size.
func (m Norm) Sizes() (in, out int) { return len(m.Gain), len(m.Gain) }

// Apply normalises x at the frozen scale.
func (m Norm) Apply(token int, x []float64) []float64 {
	y := m.centred(x)
	m.scaleBy(token, y)
	return y
}

// Transpose scales y and then centres it.
func (m Norm) Transpose(token int, y []float64) []float64 {
	x := slices.Clone(y)
	m.scaleBy(token, x)
	return m.centred(x)
}

// Backward returns the gradient of a loss with respect to the norm's input x [len(Gain)] at a
// token, given the gradient dy with respect to its output. Here the scale is not frozen but follows
// x, which must be the input that At got for that token. With x^ the centred x times scale, of
// width D,
//
//	dx = scale centred(Gain dy) - scale x^ <x^, Gain dy> / D
func (m Norm) Backward(token int, x, dy []float64) []float64 {
	dx, of := m.Transpose(token, dy), m.centred(x)
	width := len(x) / m.Groups
	for g := range m.Groups {
		part, centred := dx[g*width:][:width], of[g*width:][:width]
		scale := m.scale[token*m.Groups+g]
		floats.AddScaled(part, -scale*scale*floats.Dot(centred, part)/float64(width), centred)
	}
	return dx
}

// scaleBy multiplies x by Gain and by the scales of a token.
func (m Norm) scaleBy(token int, x []float64) {
	width := len(x) / m.Groups
	for i := range x {
		factor := m.Gain[i]
		if m.scale != nil {
			factor *= m.scale[token*m.Groups+i/width]
		}
		x[i] *= factor
	}
}

// centred returns a copy of x; for a LayerNorm it subtracts the mean of each group.
func (m Norm) centred(x []float64) []float64 {
	y := slices.Clone(x)
	if !m.Centre {
		return y
	}
	width := len(x) / m.Groups
	for i := 0; i < len(y); i += width {
		group := y[i:][:width]
		floats.AddConst(-meanOf(group), group)
	}
	return y
}
