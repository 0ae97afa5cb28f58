package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/residua-go/residua/analysis"
)

// shapes of weights: single keys, heads, feed-forwards wider than the stream, tables, and
// ways from more slots to fewer and back.
func chanceShapes() [][4]int {
	return [][4]int{{1, 7, 7, 1}, {1, 1, 1, 1}, {3, 7, 7, 4}, {4, 7, 7, 3}, {7, 7, 7, 7}, {30, 7, 7, 2}, {2, 7, 7, 30}, {20, 7, 7, 25}, {3, 12, 6, 4}, {3, 6, 12, 4}, {40, 12, 6, 3}, {5, 6, 12, 40}}
}

// TestChanceAgainstItsClosedForm: the mean square of the drawn scores, which their mean and
// deviation give, is 1/In, within four standard errors.
func TestChanceAgainstItsClosedForm(t *testing.T) {
	t.Parallel()
	const draws = 20000
	for _, s := range chanceShapes() {
		c := analysis.DrawChance(s[0], s[1], s[2], s[3], draws, 5)
		square := c.Mean*c.Mean + c.Deviation*c.Deviation*(draws-1)/draws
		assert.InDelta(t, c.RMS()*c.RMS(), square, 1e-12+4*c.SquareDeviation()/math.Sqrt(draws), "%v", s)
		assert.InDelta(t, 1/float64(s[1]), c.RMS()*c.RMS(), 1e-15)
	}
}

// TestChanceOfKeys: |cos| of two random keys has the mean Gamma(D/2) / (sqrt(pi)
// Gamma((D+1)/2)).
func TestChanceOfKeys(t *testing.T) {
	const draws = 20000
	for _, d := range []int{2, 5, 32, 64} {
		c := analysis.DrawChance(1, d, d, 1, draws, 1)
		a, _ := math.Lgamma(float64(d) / 2)
		b, _ := math.Lgamma(float64(d+1) / 2)
		mean := math.Exp(a-b) / math.Sqrt(math.Pi)
		deviation := math.Sqrt(1/float64(d) - mean*mean)
		assert.InDelta(t, mean, c.Mean, 4*deviation/math.Sqrt(draws))
		assert.InEpsilon(t, deviation, c.Deviation, 0.05)
	}
}

// TestChanceAgainstDrawnMatrices: scores of Gaussian matrices that are drawn entry by entry
// have the same mean, deviation and deviation of their squares.
func TestChanceAgainstDrawnMatrices(t *testing.T) {
	t.Parallel()
	const draws = 4000
	for _, s := range chanceShapes() {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			c := analysis.DrawChance(s[0], s[1], s[2], s[3], draws, 6)
			draw := rand.New(rand.NewPCG(7, 8))
			scores, squares := make([]float64, draws), make([]float64, draws)
			for i := range scores {
				scores[i] = drawnScore(draw, s[0], s[1], s[2], s[3])
				squares[i] = scores[i] * scores[i]
			}
			mean, deviation := stat.MeanStdDev(scores, nil)
			assert.InDelta(t, mean, c.Mean, 1e-12+4*math.Sqrt2*deviation/math.Sqrt(draws))
			assert.InDelta(t, deviation, c.Deviation, 1e-12+0.1*deviation)
			assert.InDelta(t, stat.StdDev(squares, nil), c.SquareDeviation(), 1e-8+0.1*c.SquareDeviation())
		})
	}
}

// drawnScore is ||A M B|| / (||A|| ||B|| ||M|| / sqrt(out)), M the identity as far as it goes.
func drawnScore(draw *rand.Rand, rows, in, out, columns int) float64 {
	gaussian := func(n, m int) *mat.Dense {
		w := mat.NewDense(n, m, nil)
		for i := range n {
			for j := range m {
				w.Set(i, j, draw.NormFloat64())
			}
		}
		return w
	}
	a, b, k := gaussian(rows, in), gaussian(out, columns), min(in, out)
	p := times(a.Slice(0, rows, 0, k), b.Slice(0, k, 0, columns))
	return mat.Norm(p, 2) / (mat.Norm(a, 2) * mat.Norm(b, 2)) * math.Sqrt(float64(out)/float64(k))
}

// TestChanceIsDeterministic: the seed says it all.
func TestChanceIsDeterministic(t *testing.T) {
	a := analysis.DrawChance(3, 7, 7, 4, 50, 1)
	assert.Equal(t, a, analysis.DrawChance(3, 7, 7, 4, 50, 1))
	assert.NotEqual(t, a, analysis.DrawChance(3, 7, 7, 4, 50, 2))
}
