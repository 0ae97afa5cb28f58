package linear

// Keys stores R rows y [R, Width] in a matrix X [Dk, Width] by their key vectors, Vectors
// [R, Dk], as the RMT writes (Mak & Flanigan 2025, arXiv 2506.22696, eq. 20):
//
//	X = sum over r of Vectors_r (x) y_r = Vectors^T y
//
// Its transpose is how the RMT reads: y = Vectors X (eq. 22). It is a Mix of rows whose
// coefficients are parameters.
type Keys struct {
	Vectors   []float64
	Dk, Width int
}

// mix are the keys as a mixture of rows.
func (m Keys) mix() Mix {
	return Mix{In: len(m.Vectors) / m.Dk, Out: m.Dk, Width: m.Width, At: func(_, k, r int) float64 { return m.Vectors[r*m.Dk+k] }}
}

// Sizes are R and Dk rows of Width entries.
func (m Keys) Sizes() (in, out int) { return m.mix().Sizes() }

// Apply stores the rows y.
func (m Keys) Apply(token int, y []float64) []float64 { return m.mix().Apply(token, y) }

// Transpose reads the matrix x.
func (m Keys) Transpose(token int, x []float64) []float64 { return m.mix().Transpose(token, x) }
