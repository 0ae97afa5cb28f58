package numerics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Transposed returns a copy of a matrix, transposed.
func Transposed(m mat.Matrix) *mat.Dense { return mat.DenseCopyOf(m.T()) }

// Triangle returns R [k, k] of the QR decomposition w = Q R, for w [n, k] with more rows than
// columns: since the columns of Q are orthonormal, ||w x|| = ||R x|| for any x. For any other w
// it returns w itself.
func Triangle(w mat.Matrix) *mat.Dense {
	n, k := w.Dims()
	if n <= k {
		return mat.DenseCopyOf(w)
	}
	var qr mat.QR
	var r mat.Dense
	qr.Factorize(w)
	qr.RTo(&r)
	return mat.DenseCopyOf(r.Slice(0, k, 0, k))
}

// Dot returns the sum of the products of two matrices' entries.
func Dot(a, b *mat.Dense) float64 {
	sum := 0.0
	for i := range a.RawMatrix().Rows {
		sum += floats.Dot(a.RawRowView(i), b.RawRowView(i))
	}
	return sum
}

// Stacked returns b below a; a may be nil.
func Stacked(a, b *mat.Dense) *mat.Dense {
	if a == nil {
		return b
	}
	var both mat.Dense
	both.Stack(a, b)
	return &both
}

// UnitRows returns a copy of m with each row scaled to length 1. Rows of zeros stay zero.
func UnitRows(m mat.Matrix) *mat.Dense {
	units := mat.DenseCopyOf(m)
	for i := range units.RawMatrix().Rows {
		row := units.RawRowView(i)
		if length := floats.Norm(row, 2); length > 0 {
			floats.Scale(1/length, row)
		}
	}
	return units
}

// NotFinite reports whether v is NaN or infinite.
func NotFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// Finite reports whether no entry of w is NaN or infinite.
func Finite(w *mat.Dense) bool {
	return !slices.ContainsFunc(w.RawMatrix().Data, NotFinite)
}
