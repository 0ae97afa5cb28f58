package numerics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// TestFastICAFindsPlantedSources: sparse sources that a random matrix has mixed come back, each
// along one direction, up to order, sign and size.
func TestFastICAFindsPlantedSources(t *testing.T) {
	const n, k, d = 3000, 4, 6
	draw := rand.New(rand.NewPCG(3, 4))
	sources := mat.NewDense(n, k, nil)
	sources.Apply(func(_, _ int, _ float64) float64 { // Laplace
		return math.Copysign(draw.ExpFloat64(), draw.Float64()-0.5)
	}, sources)
	var x mat.Dense
	x.Mul(sources, Gaussian(draw, k, d))
	x.Apply(func(_, j int, v float64) float64 { return v + float64(j) }, &x)
	w, ok := Whiten(&x, 5)
	require.True(t, ok)
	z := w.Of(&x)
	_, found := z.Dims()
	require.Equal(t, k, found, "as many directions as there are sources")
	turn, steps, converged := FastICA(z, draw)
	assert.True(t, converged, "%d steps", steps)
	y := Mul(z, turn.T())
	for j := range k {
		best := 0.0
		for i := range k {
			best = max(best, math.Abs(correlation(mat.Col(nil, j, sources), mat.Col(nil, i, y))))
		}
		assert.Greater(t, best, 0.98, "source %d", j)
	}
	_, ok = Whiten(mat.NewDense(3, 2, nil), 2)
	assert.False(t, ok, "what does not vary")
}

func correlation(x, y []float64) float64 {
	a, b := mat.NewVecDense(len(x), x), mat.NewVecDense(len(y), y)
	return mat.Dot(a, b) / math.Sqrt(mat.Dot(a, a)*mat.Dot(b, b))
}
