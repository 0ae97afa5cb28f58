package linear

import "gonum.org/v1/gonum/floats"

// Mix mixes rows of Width entries, x [In, Width] -> y [Out, Width], by a coefficient for each
// pair of rows, which may differ from token to token:
//
//	y_i = sum over j of At(token, i, j) x_j
//
// Hyper-connections mix copies of a vector in this way, a stream that keeps earlier results weighs
// them, and keys store to the Dk rows of an outer-product memory (Keys). A step I - b k k^T on the
// rows of such a memory is a Mix, too.
type Mix struct {
	In, Out, Width int
	At             func(token, i, j int) float64
	Vectors        []float64 // for Keys, [In, Out]; otherwise nil
}

// Rows returns a Mix with the same coefficients [out][in] for all tokens. There must be at least
// one row of coefficients.
func Rows(width int, coefficients ...[]float64) Mix {
	return Mix{In: len(coefficients[0]), Out: len(coefficients), Width: width, At: func(_, i, j int) float64 { return coefficients[i][j] }}
}

// Row returns the map that takes row i of n rows; its transpose writes only to that row.
func Row(n, i, width int) Mix {
	only := make([]float64, n)
	only[i] = 1
	return Rows(width, only)
}

// Keys returns the map that stores R rows y [R, width] in a matrix X [Dk, width] by their key
// vectors [R, Dk], as the RMT writes (Mak & Flanigan 2025, arXiv 2506.22696, eq. 20):
//
//	X = sum over r of vectors_r (x) y_r = vectors^T y
//
// Its transpose is how the RMT reads: y = vectors X (eq. 22).
func Keys(vectors []float64, dk, width int) Mix {
	at := func(_, k, r int) float64 { return vectors[r*dk+k] }
	return Mix{In: len(vectors) / dk, Out: dk, Width: width, At: at, Vectors: vectors}
}

// KeysOf returns m as a Mix if it is one of Keys, or the transpose of one; otherwise false.
func KeysOf(m Map) (Mix, bool) {
	if t, ok := m.(Transposed); ok {
		m = t.Of
	}
	keys, ok := m.(Mix)
	return keys, ok && keys.Vectors != nil
}

// Sizes returns the entries of In and of Out rows.
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
func (m Mix) Transpose(token int, y []float64) []float64 { return m.transposed().Apply(token, y) }

// transposed returns the transpose as a Mix.
func (m Mix) transposed() Mix {
	return Mix{In: m.Out, Out: m.In, Width: m.Width, At: func(t, i, j int) float64 { return m.At(t, j, i) }}
}
