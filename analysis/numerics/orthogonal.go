package numerics

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// RandomOrthogonal draws an orthogonal matrix [n, n]. Without keepOnes it is uniform over
// the orthogonal group: Q of a Gaussian matrix's QR decomposition with R's diagonal made
// positive (Mezzadri 2007, "How to generate random matrices from the classical compact
// groups", section 5). With keepOnes it is uniform over those that fix the vector of ones.
func RandomOrthogonal(n int, draw *rand.Rand, keepOnes bool) *mat.Dense {
	if !keepOnes {
		return UniformOrthogonal(n, draw)
	}
	// diag(1, Q') fixes the first axis; the reflection H swaps that axis and the ones'.
	inner := mat.NewDense(n, n, nil)
	inner.Set(0, 0, 1)
	if n > 1 {
		inner.Slice(1, n, 1, n).(*mat.Dense).Copy(UniformOrthogonal(n-1, draw))
	}
	h := onesReflection(n)
	var q mat.Dense
	q.Product(h, inner, h)
	return &q
}

// UniformOrthogonal draws an orthogonal matrix [n, n] uniformly.
func UniformOrthogonal(n int, draw *rand.Rand) *mat.Dense {
	var qr mat.QR
	var q, r mat.Dense
	qr.Factorize(Gaussian(draw, n, n))
	qr.QTo(&q)
	qr.RTo(&r)
	for j := range n {
		if r.At(j, j) < 0 {
			for i := range n {
				q.Set(i, j, -q.At(i, j))
			}
		}
	}
	return &q
}

// onesReflection returns the reflection [n, n] that swaps the first axis with 1/sqrt(n) (1,
// ..., 1): I - 2 u u^T / u.u with u the difference of the two (Householder).
func onesReflection(n int) *mat.Dense {
	u := make([]float64, n)
	for i := range u {
		u[i] = -1 / math.Sqrt(float64(n))
	}
	u[0]++
	h := Identity(n)
	if n > 1 {
		v := mat.NewVecDense(n, u)
		h.RankOne(h, -2/mat.Dot(v, v), v, v)
	}
	return h
}

// Identity returns the identity matrix [n, n].
func Identity(n int) *mat.Dense {
	return mat.DenseCopyOf(mat.NewDiagDense(n, slices.Repeat([]float64{1}, n)))
}
