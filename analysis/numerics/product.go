package numerics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Transposed returns a copy of a matrix, transposed.
func Transposed(m mat.Matrix) *mat.Dense { return mat.DenseCopyOf(m.T()) }

// Triangle is R [k, k] of w = Q R [n, k]: with Q's columns orthonormal, ||w x|| = ||R x|| for
// any x. A w that is not tall stands for itself.
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

// Dot is the sum of the products of two matrices' entries.
func Dot(a, b *mat.Dense) float64 {
	sum := 0.0
	for i := range a.RawMatrix().Rows {
		sum += floats.Dot(a.RawRowView(i), b.RawRowView(i))
	}
	return sum
}

// Stacked is b below a; a may be nil.
func Stacked(a, b *mat.Dense) *mat.Dense {
	if a == nil {
		return b
	}
	var both mat.Dense
	both.Stack(a, b)
	return &both
}

// UnitRows are the rows at length 1, in memory of their own; rows of zeros stay.
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

// NotFinite tells whether a number is none, or infinite.
func NotFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// Finite tells whether all entries are numbers.
func Finite(w *mat.Dense) bool {
	return !slices.ContainsFunc(w.RawMatrix().Data, NotFinite)
}
