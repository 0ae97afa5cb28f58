package linear

import "gonum.org/v1/gonum/floats"

// Erase removes from each of a token's rows the component along the token's own direction, as
// the delta rule does (Zhang et al. 2026, arXiv 2601.00417), and sets the rows after the first
// Kept to zero: with k_t of Keys [T, Width] and b_t of Factors [T]
//
//	y[i] = x[i] - b_t (k_t . x[i]) k_t   for i < Kept,   0 for the others
//
// Without Keys the rows that are kept do not change.
type Erase struct {
	Keys, Factors     []float64
	Width, Rows, Kept int
}

// Sizes returns Rows times Width, twice.
func (m Erase) Sizes() (in, out int) { return m.Rows * m.Width, m.Rows * m.Width }

// Apply erases.
func (m Erase) Apply(token int, x []float64) []float64 {
	y := make([]float64, m.Rows*m.Width)
	copy(y, x[:m.Kept*m.Width])
	if m.Keys == nil {
		return y
	}
	k := m.Keys[token*m.Width:][:m.Width]
	for i := range m.Kept {
		row := y[i*m.Width:][:m.Width]
		floats.AddScaled(row, -m.Factors[token]*floats.Dot(k, row), k)
	}
	return y
}

// Transpose calls Apply: the map is symmetric.
func (m Erase) Transpose(token int, y []float64) []float64 { return m.Apply(token, y) }
