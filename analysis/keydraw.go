package analysis

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// gaussian draws a matrix of independent standard normal entries.
func gaussian(draw *rand.Rand, rows, columns int) *mat.Dense {
	m := mat.NewDense(rows, columns, nil)
	for i := range rows {
		row := m.RawRowView(i)
		for j := range row {
			row[j] = draw.NormFloat64()
		}
	}
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
