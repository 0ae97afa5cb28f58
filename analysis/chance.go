package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"github.com/residua-go/residua/analysis/numerics"
)

// Chance is the distribution of the squared score s^2 = ||A M B||^2 / (||A||^2 ||B||^2 ||M||^2/Out)
// of two unrelated weights: the given weights, with all their singular values, when one of them is
// rotated at random. With G = A^T A [D, D] and H = M B B^T M^T, and O drawn uniformly from the
// orthogonal matrices,
//
//	E tr(G O H O^T) = tr(G) tr(H) / D,   Var tr(G O H O^T) = sum over k of |G_k|^2 |H_k|^2 / dim(k)
//
// with the parts G_k and H_k of G and H that rotations do not mix (Schur's lemma). In a stream of
// vectors one part varies, the symmetric matrices of trace 0, of (D-1)(D+2)/2 dimensions. A matrix
// stream [Dk, Dv] is rotated by O_k on keys and O_v on values, each at random, and has four parts:
// on keys alone, on values alone, the products of these two, and products of two antisymmetric
// ones.
//
// For two directions in D dimensions s is |cos|, with mean square 1/D, and s^2 has the distribution
// Beta(1/2, (D-1)/2). The same holds, except for gains, for the keys of two heads of a matrix
// stream, with D = Dk.
type Chance struct {
	Mean      float64 `json:"mean"`      // of the squared score: 1/D where M = I
	Deviation float64 `json:"deviation"` // standard, of the squared score
	Most      float64 `json:"most"`      // |G| |H|, which bounds it
}

// rms returns the root mean square of the score.
func (c Chance) rms() float64 { return math.Sqrt(c.Mean) }

// P returns the probability that unrelated weights reach at least this score: by the Beta
// distribution on [0, Most] that has Chance's mean and deviation. It is exact for single
// directions and approximate for others.
func (c Chance) P(score float64) float64 {
	mean, x := c.Mean/c.Most, score*score/c.Most
	variance := math.Pow(c.Deviation/c.Most, 2)
	const rounding = 1e-12
	if !(mean < 1-rounding) || variance < rounding*mean*mean { // no other score is possible
		return 1
	}
	n := mean*(1-mean)/variance - 1
	switch {
	case x >= 1:
		return 0
	case n <= 0:
		return 1
	}
	return mathext.RegIncBeta((1-mean)*n, mean*n, 1-x)
}

// ScoreChance is the distribution of the score of a full circuit (CircuitSpectrum) of a head
// that is unrelated to the vocabulary: the head's own weights, with their singular values, each
// rotated at random. The mean is 0, because a head that writes, or asks for, the opposite is as
// likely and has the opposite score. The deviation of a ratio of sums of eigenvalues has no
// closed form, so Deviation and P are estimated from draws.
type ScoreChance struct {
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"`
	// P is the probability of a score at least as far from 0: the share of such scores among the
	// draws and the score itself.
	P float64 `json:"p"`
}

// chanceOfScore compares a score with drawn ones.
func chanceOfScore(score float64, drawn []float64) *ScoreChance {
	far := 1
	for _, d := range drawn {
		if math.Abs(d) >= math.Abs(score) {
			far++
		}
	}
	return &ScoreChance{Deviation: floats.Norm(drawn, 2) / math.Sqrt(float64(len(drawn))), P: float64(far) / float64(len(drawn)+1)}
}

// String returns "0 ± 0.54".
func (c *ScoreChance) String() string {
	if c == nil {
		return ""
	}
	return numerics.PlusMinus(c.Mean, c.Deviation)
}

// dimensions holds the sizes of a stream's space: Dk and Dv of a matrix stream, D and 1 of vectors.
type dimensions struct{ keys, values int }

// spread says how unevenly directions fill their space. With G their Gram matrix, it holds
// |G|^2 and the squared norms of the four parts of G that Chance describes, as shares of
// tr(G)^2.
type spread struct {
	square float64 // |G|^2
	parts  [4]float64
}

// spreadOf splits a Gram matrix into the parts of a spread, given its trace, its squared norm, its
// inner product with its partial transpose, which exchanges the values, and the squared norms of
// its partial traces over values [Dk, Dk] (keys) and over keys [Dv, Dv] (values).
func spreadOf(d dimensions, trace, square, transposed, keys, values float64) spread {
	if trace == 0 {
		return spread{}
	}
	k, v, all := float64(d.keys), float64(d.values), trace*trace
	s := spread{square: square / all}
	s.parts[0] = (keys/all - 1/k) / v
	s.parts[1] = (values/all - 1/v) / k
	s.parts[2] = (square+transposed)/(2*all) - s.parts[0] - s.parts[1] - 1/(k*v)
	s.parts[3] = (square - transposed) / (2 * all)
	return s
}

// chanceOf returns the Chance of weights with two spreads. scale is the trace of the second's Gram
// matrix divided by the squared norms that the score is divided by: 1 if M = I.
func chanceOf(d dimensions, a, b spread, scale float64) Chance {
	traceless := func(n int) float64 { return float64(n-1) * float64(n+2) / 2 }
	antisymmetric := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	sizes := [4]float64{traceless(d.keys), traceless(d.values), traceless(d.keys) * traceless(d.values), antisymmetric(d.keys) * antisymmetric(d.values)}
	variance := 0.0
	for i, size := range sizes {
		if size > 0 {
			variance += max(0, a.parts[i]) * max(0, b.parts[i]) / size
		}
	}
	return Chance{Mean: scale / float64(d.keys*d.values), Deviation: scale * math.Sqrt(variance), Most: scale * math.Sqrt(a.square*b.square)}
}
