package analysis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// rotated is a uniformly random orthogonal matrix.
func rotated(draw *rand.Rand, n int) *mat.Dense {
	w := mat.NewDense(n, n, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return draw.NormFloat64() }, w)
	var qr mat.QR
	var q, r mat.Dense
	qr.Factorize(w)
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

// checkChance compares a Chance with scores of what is written rotated at random, draw by draw: the
// mean and the deviation of their squares, and how often p-values are small.
func checkChance(t *testing.T, c analysis.Chance, out, in *mat.Dense, rotation func() *mat.Dense, what string) {
	t.Helper()
	const draws = 1500
	size := mat.Norm(out, 2) * mat.Norm(in, 2)
	var squares []float64
	small := map[float64]float64{0.2: 0, 0.05: 0, 0.01: 0}
	for range draws {
		score := mat.Norm(times(out, rotation(), in), 2) / size
		squares = append(squares, score*score)
		for level := range small {
			if c.P(score) <= level {
				small[level] += 1.0 / draws
			}
		}
	}
	mean, deviation := stat.MeanStdDev(squares, nil)
	assert.InDelta(t, mean, c.Mean, 4.5*deviation/math.Sqrt(draws), what)
	assert.InEpsilon(t, deviation, c.Deviation, 0.15, what)
	for level, share := range small {
		assert.InDelta(t, level, share, 4.5*math.Sqrt(level/draws)+0.2*level, "%s: p <= %g", what, level)
	}
}

// TestChanceOfRotations: of rotations that are drawn, in a stream of vectors and in one of keys and
// values, of single directions, heads, feed-forwards and tables.
func TestChanceOfRotations(t *testing.T) {
	t.Parallel()
	draw := rand.New(rand.NewPCG(1, 2))
	c := modeltest.Resolve(t, transformer(2, 12, 17, 3, 13, 9))
	store := modeltest.PerturbedStore(t, c, tensor.Float64)
	n := newNaive(t, store, c, nil)
	for _, pair := range [][2]string{{"embedding", "unembedding"}, {"blocks.0.attention.1", "blocks.1.attention.2.q"}, {"blocks.0.feedforward", "blocks.1.attention.0.v"}} {
		v, err := analysis.Connect(store, c, pair[0], pair[1], nil)
		require.NoError(t, err)
		checkChance(t, v.Chance, n.out(pair[0]), n.in(pair[1]), func() *mat.Dense { return rotated(draw, 12) }, pair[0]+" to "+pair[1])
	}
	m := newRMT(t)
	m.c = varied(t, m.c, func(c *models.Config) { c.Norm = models.NormRMS })
	for _, pair := range [][2]string{{"embedding", "unembedding"}, {"blocks.0.attention.1", "blocks.1.attention.2.q"}, {"blocks.0.feedforward", "blocks.1.attention.0.v"},
		{"blocks.0.feedforward", "unembedding"}, {"blocks.0.attention.0", "blocks.1.feedforward"}} {
		v, err := analysis.Connect(m.store, m.c, pair[0], pair[1], nil)
		require.NoError(t, err)
		checkChance(t, v.Chance, m.out(pair[0]), m.in(pair[1]), func() *mat.Dense {
			var both mat.Dense
			both.Kronecker(rotated(draw, m.s.Dk), rotated(draw, m.s.Dv))
			return &both
		}, pair[0]+" to "+pair[1])
	}
}

// TestChanceOfKeys: the p-value of |cos| of two keys follows Beta(1/2, (D-1)/2). At 32 dimensions a
// cosine that is three deviations of |cos| above its mean has p = 0.0073, not the 0.0013 of a
// Gaussian, and one deviation has 0.17.
func TestChanceOfKeys(t *testing.T) {
	const d = 32
	c := analysis.Chance{Mean: 1.0 / d, Deviation: math.Sqrt(2.0*(d-1)/(d+2)) / d, Most: 1}
	a, _ := math.Lgamma(d / 2.0)
	b, _ := math.Lgamma((d + 1) / 2.0)
	mean := math.Exp(a-b) / math.Sqrt(math.Pi)
	deviation := math.Sqrt(1.0/d - mean*mean)
	assert.InDelta(t, 0.0073, c.P(mean+3*deviation), 2e-4)
	assert.InDelta(t, 0.17, c.P(mean+deviation), 5e-3)
	assert.Zero(t, c.P(1))
	assert.Equal(t, 1.0, c.P(0))
	assert.Equal(t, 1.0, analysis.Chance{Mean: 1, Most: 1}.P(1), "in one dimension nothing is rotated")
}
