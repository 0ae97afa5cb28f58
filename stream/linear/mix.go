package linear

import "gonum.org/v1/gonum/floats"

// Mix mixes rows of Width entries, x [In, Width] -> y [Out, Width], by a coefficient for each
// pair of rows, which may differ from token to token:
//
//	y_i = sum over j of At(token, i, j) x_j
//
// Hyper-connections mix copies of a vector so, a stream that keeps earlier results weighs them,
// and an outer-product memory of Dk rows is stored to by keys (Keys). A step I - b k k^T on the
// rows of such a memory is one, too.
type Mix struct {
	In, Out, Width int
	At             func(token, i, j int) float64
}

// Rows is a Mix with the same coefficients [out][in] for all tokens, of which there is at least
// one.
func Rows(width int, coefficients ...[]float64) Mix {
	return Mix{In: len(coefficients[0]), Out: len(coefficients), Width: width, At: func(_, i, j int) float64 { return coefficients[i][j] }}
}

// Sizes are In and Out rows.
func (m Mix) Sizes() (in, out int) { return m.In * m.Width, m.Out * m.Width }

// Apply mixes the rows of x.
func (m Mix) Apply(token int, x []float64) []float64 {
	y := make([]float64, m.Out*m.Width)
	for i := range m.Out {
		for j := range m.In {
			floats.AddScaled(y[i*m.Width:][:m.Width], m.At(token, i, j), x[j*m.Width:][:m.Width])
		}
	}
	return y
}

// Transpose mixes the rows of y by the transposed coefficients.
func (m Mix) Transpose(token int, y []float64) []float64 {
	x := make([]float64, m.In*m.Width)
	for i := range m.Out {
		for j := range m.In {
			floats.AddScaled(x[j*m.Width:][:m.Width], m.At(token, i, j), y[i*m.Width:][:m.Width])
		}
	}
	return x
}

// transposed mixes the other way.
func (m Mix) transposed() Mix {
	return Mix{In: m.Out, Out: m.In, Width: m.Width, At: func(t, i, j int) float64 { return m.At(t, j, i) }}
}
