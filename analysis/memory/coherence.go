package memory

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
)

// Coherence is how far keys are from orthogonal: over all pairs of different keys i != j with
// c_ij = cos(k_i, k_j),
//
//	Max = max |c_ij|,   MeanSquared = mean c_ij^2
//
// Any N vectors of d dimensions satisfy (Welch 1974, "Lower bounds on the maximum cross
// correlation of signals")
//
//	MeanSquared >= (N-d) / (d(N-1)),   Max >= sqrt((N-d) / (d(N-1)))
//
// since sum_ij c_ij^2 = ||K K^T||_F^2 >= (tr K^T K)^2/d = N^2/d; up to N = d both can be 0.
// Directions drawn uniformly have MeanSquared 1/d on average.
type Coherence struct {
	Keys        int     `json:"keys"`       // N
	Dimensions  int     `json:"dimensions"` // d
	Max         float64 `json:"max"`
	MeanSquared float64 `json:"mean_squared"`
	Welch       float64 `json:"welch"` // lower bound of Max; its square bounds MeanSquared
}

// coherenceOf returns the coherence of the rows of keys [N, d], whatever their lengths.
func coherenceOf(keys mat.Matrix) Coherence {
	n, d := keys.Dims()
	c := Coherence{Keys: n, Dimensions: d, Welch: welchBound(n, d)}
	units := numerics.UnitRows(keys)
	gram := numerics.Mul(units, units.T()) // [N, N]
	for i := range n {
		for j := range i {
			v := math.Abs(gram.At(i, j))
			c.Max = max(c.Max, v)
			c.MeanSquared += v * v / (float64(n*(n-1)) / 2)
		}
	}
	return c
}

// welchBound returns the smallest possible value of the largest |cosine| among n vectors of d
// dimensions.
func welchBound(n, d int) float64 {
	if n <= d || n < 2 || d < 1 {
		return 0
	}
	return math.Sqrt(float64(n-d) / (float64(d) * float64(n-1)))
}
