package analysis

import (
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/internal/matmul"
)

// times is the product of two matrices or of three, these in the order that takes fewer operations.
func times(a, b mat.Matrix, more ...mat.Matrix) *mat.Dense {
	if len(more) == 0 {
		return matmul.Mul(a, b)
	}
	c := more[0]
	m, k := a.Dims()
	n, p := c.Dims()
	if m*n*(k+p) <= k*p*(m+n) {
		return matmul.Mul(matmul.Mul(a, b), c)
	}
	return matmul.Mul(a, matmul.Mul(b, c))
}

// transposed returns a copy of a matrix, transposed.
func transposed(m mat.Matrix) *mat.Dense { return mat.DenseCopyOf(m.T()) }

// triangle is R [k, k] of w = Q R [n, k]: with Q's columns orthonormal, ||w x|| = ||R x|| for
// any x. A w that is not tall stands for itself.
func triangle(w mat.Matrix) *mat.Dense {
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
