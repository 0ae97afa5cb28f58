package numerics

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Gaussian draws a matrix of independent standard normal entries.
func Gaussian(draw *rand.Rand, rows, columns int) *mat.Dense {
	m := mat.NewDense(rows, columns, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return draw.NormFloat64() }, m)
	return m
}

// UnitVectors draws n unit vectors of d dimensions uniformly, rows.
func UnitVectors(draw *rand.Rand, n, d int) *mat.Dense {
	return UnitRows(Gaussian(draw, n, d))
}

// OrthonormalVectors draws n unit vectors from random orthonormal bases of d dimensions, one
// basis after another: up to d of them are orthogonal.
func OrthonormalVectors(draw *rand.Rand, n, d int) *mat.Dense {
	keys := mat.NewDense(n, d, nil)
	for from := 0; from < n; from += d {
		var qr mat.QR
		var q mat.Dense
		qr.Factorize(Gaussian(draw, d, d))
		qr.QTo(&q)
		keys.Slice(from, min(from+d, n), 0, d).(*mat.Dense).Copy(q.T())
	}
	return keys
}

// OrthonormalRows draws k <= d orthonormal directions of d dimensions, as rows. For a Gaussian G,
// L^-1 G with L L^T = G G^T is Gram and Schmidt's result. If k is near d, where G G^T may be nearly
// singular, it draws a whole orthonormal basis and returns k of it.
func OrthonormalRows(draw *rand.Rand, k, d int) *mat.Dense {
	if 2*k > d {
		return OrthonormalVectors(draw, k, d)
	}
	g := Gaussian(draw, k, d)
	gram := mat.NewSymDense(k, Mul(g, g.T()).RawMatrix().Data)
	var l mat.Cholesky
	if !l.Factorize(gram) {
		return OrthonormalVectors(draw, k, d)
	}
	var lower, inverse mat.TriDense
	l.LTo(&lower)
	if inverse.InverseTri(&lower) != nil {
		return OrthonormalVectors(draw, k, d)
	}
	return Mul(&inverse, g)
}

// EquiangularVectors draws n <= d-1 unit vectors that share a direction u: sqrt(1-s) q_i + sqrt(s)
// u with q_i and u orthonormal, so that all their cosines are s.
func EquiangularVectors(draw *rand.Rand, n, d int, s float64) *mat.Dense {
	basis := OrthonormalVectors(draw, n+1, d)
	keys, u := mat.NewDense(n, d, nil), basis.RawRowView(n)
	for i := range n {
		row := keys.RawRowView(i)
		floats.AddScaled(row, math.Sqrt(1-s), basis.RawRowView(i))
		floats.AddScaled(row, math.Sqrt(s), u)
	}
	return keys
}
