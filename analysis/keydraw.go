package analysis

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/internal/matmul"
)

// gaussian draws a matrix of independent standard normal entries.
func gaussian(draw *rand.Rand, rows, columns int) *mat.Dense {
	m := mat.NewDense(rows, columns, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return draw.NormFloat64() }, m)
	return m
}

// randomKeys draws n unit vectors of d dimensions uniformly, rows.
func randomKeys(draw *rand.Rand, n, d int) *mat.Dense {
	return unitRows(gaussian(draw, n, d))
}

// orthonormalKeys draws n unit vectors from random orthonormal bases of d dimensions, one
// basis after another: up to d of them are orthogonal.
func orthonormalKeys(draw *rand.Rand, n, d int) *mat.Dense {
	keys := mat.NewDense(n, d, nil)
	for from := 0; from < n; from += d {
		var qr mat.QR
		var q mat.Dense
		qr.Factorize(gaussian(draw, d, d))
		qr.QTo(&q)
		keys.Slice(from, min(from+d, n), 0, d).(*mat.Dense).Copy(q.T())
	}
	return keys
}

// randomDirections draws k <= d orthonormal directions of d dimensions, as rows. For a Gaussian G, L^-1 G with
// L L^T = G G^T is Gram and Schmidt's result. If k is near d, where G G^T may be nearly singular, it draws a whole
// orthonormal basis and returns k of it.
func randomDirections(draw *rand.Rand, k, d int) *mat.Dense {
	if 2*k > d {
		return orthonormalKeys(draw, k, d)
	}
	g := gaussian(draw, k, d)
	gram := mat.NewSymDense(k, matmul.Mul(g, g.T()).RawMatrix().Data)
	var l mat.Cholesky
	if !l.Factorize(gram) {
		return orthonormalKeys(draw, k, d)
	}
	var lower, inverse mat.TriDense
	l.LTo(&lower)
	if inverse.InverseTri(&lower) != nil {
		return orthonormalKeys(draw, k, d)
	}
	return matmul.Mul(&inverse, g)
}

// sharedKeys draws n <= d-1 unit vectors that share a direction u: sqrt(1-s) q_i + sqrt(s) u
// with q_i and u orthonormal, so that all their cosines are s.
func sharedKeys(draw *rand.Rand, n, d int, s float64) *mat.Dense {
	basis := orthonormalKeys(draw, n+1, d)
	keys, u := mat.NewDense(n, d, nil), basis.RawRowView(n)
	for i := range n {
		row := keys.RawRowView(i)
		floats.AddScaled(row, math.Sqrt(1-s), basis.RawRowView(i))
		floats.AddScaled(row, math.Sqrt(s), u)
	}
	return keys
}
