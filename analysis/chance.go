package analysis

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Chance is the score ||A M B|| / (||A|| ||B|| ||M|| / sqrt(Out)) of random weights A [Rows,
// In] and B [Out, Columns], all entries independent from N(0, 1), where M does the same in
// min(In, Out) directions, as the identity does with In = Out.
//
// With Rows = Columns = 1 and M = I it is |cos| of two random directions, of mean
// Gamma(D/2) / (sqrt(pi) Gamma((D+1)/2)). For all shapes the mean square is 1/In: rotating A at
// random in its space makes E ||A M B||^2 = ||A||^2 ||M B||^2 / In.
type Chance struct {
	Rows      int     `json:"rows"`
	In        int     `json:"in"`
	Out       int     `json:"out"`
	Columns   int     `json:"columns"`
	Draws     int     `json:"draws"`
	Mean      float64 `json:"mean"`
	Deviation float64 `json:"deviation"` // standard, of one draw
}

// RMS is the root mean square of the score in closed form, 1/sqrt(In).
func (c Chance) RMS() float64 { return 1 / math.Sqrt(float64(c.In)) }

// SquareDeviation is the standard deviation of the squared score s^2 in closed form. Given B,
// the rows of A M B are independent Gaussians of covariance H = (M B)^T M B, so that
// E ||A M B||^4 = n^2 tr(H)^2 + 2 n tr(H^2), and H is a Wishart matrix. A score does not depend
// on ||A|| or ||B||; with k = min(In, Out), n Rows and m Columns
//
//	E s^4 = (Out/k)^2 (n^2 k m (k m + 2) + 2 n k m (k + m + 1)) / (n In (n In + 2) m Out (m Out + 2))
func (c Chance) SquareDeviation() float64 {
	n, m, in, out := float64(c.Rows), float64(c.Columns), float64(c.In), float64(c.Out)
	k := min(in, out)
	fourth := math.Pow(out/k, 2) * (n*n*k*m*(k*m+2) + 2*n*k*m*(k+m+1)) / (n * in * (n*in + 2) * m * out * (m*out + 2))
	return math.Sqrt(max(0, fourth-1/(in*in)))
}

// DrawChance draws scores from a seed and measures their mean and deviation.
func DrawChance(rows, in, out, columns, draws int, seed uint64) Chance {
	c := Chance{Rows: rows, In: in, Out: out, Columns: columns, Draws: draws}
	source := rand.NewPCG(seed, uint64(rows)<<48^uint64(in)<<32^uint64(out)<<16^uint64(columns))
	d := scoreDraw{rand.New(source), source}
	scores := make([]float64, max(0, draws))
	for i := range scores {
		scores[i] = d.score(c)
	}
	c.Mean, c.Deviation = stat.MeanStdDev(scores, nil)
	return c
}

// scoreDraw draws scores without drawing the weights.
type scoreDraw struct {
	normal *rand.Rand
	source rand.Source
}

// score is one draw. Orthogonal maps that rotate a Gaussian A leave it Gaussian, so B may be
// taken for the lower bidiagonal matrix that Householder reflections from both sides make of
// it (Silverstein 1985; Dumitriu & Edelman 2002, "Matrix models for beta ensembles"): entries
// a_i = chi(m+1-i) on the diagonal and b_i = chi(k-i) below it, independent. With G = A^T A,
//
//	||A B||^2 = sum_i (a_i^2 + b_(i-1)^2) G_ii + 2 sum_i a_i b_i G_(i,i+1)
//
// and, of columns of A one after another, G_(i,i+1) = |A_i| z and G_(i+1,i+1) = z^2 + chi^2(n-1)
// with z from N(0, 1).
func (d scoreDraw) score(c Chance) float64 {
	n, m, in, out := c.Rows, c.Columns, c.In, c.Out
	if m > n { // ||A B|| = ||B^T A^T||
		n, m, in, out = m, n, out, in
	}
	k := min(in, out)
	columns := min(k, m+1) // of A that B, bidiagonal, multiplies
	product, a, b, below := 0.0, 0.0, 0.0, 0.0
	g := d.chiSquared(n) // G_ii
	for i := range columns {
		diagonal := d.chiSquared(m - i)
		product, a, b = product+(diagonal+below)*g, a+g, b+diagonal+below
		if i+1 == columns {
			break
		}
		z := d.normal.NormFloat64()
		below = d.chiSquared(k - 1 - i)
		product += 2 * math.Sqrt(diagonal*below*g) * z
		g = z*z + d.chiSquared(n-1)
	}
	a += d.chiSquared(n * (in - columns))
	b += d.chiSquared(m * (out - k))
	return math.Sqrt(max(0, product) * float64(c.Out) / float64(k) / (a * b))
}

// chiSquared draws the sum of n squares from N(0, 1).
func (d scoreDraw) chiSquared(n int) float64 {
	if n <= 0 {
		return 0
	}
	return distuv.ChiSquared{K: float64(n), Src: d.source}.Rand()
}
