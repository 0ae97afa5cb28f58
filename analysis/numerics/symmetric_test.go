package numerics

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// symmetricCases are Gram matrices [n, n] of full rank, of low rank, with eigenvalues that are
// there many times, diagonal ones and 0.
func symmetricCases() map[string]*mat.Dense {
	draw := rand.New(rand.NewPCG(1, 1))
	random := func(n, m int) *mat.Dense {
		w := mat.NewDense(n, m, nil)
		w.Apply(func(_, _ int, _ float64) float64 { return draw.NormFloat64() }, w)
		return w
	}
	diagonal := mat.NewDense(9, 9, nil)
	for i := range 9 {
		diagonal.Set(i, i, float64(i/3))
	}
	twice := mat.NewDense(60, 60, nil)
	half := GramOfRows(random(30, 40))
	twice.Slice(0, 30, 0, 30).(*mat.Dense).Copy(half)
	twice.Slice(30, 60, 30, 60).(*mat.Dense).Copy(half)
	var shrunk mat.Dense
	shrunk.Scale(1e-150, half)
	return map[string]*mat.Dense{
		"full": GramOfRows(random(150, 200)), "low rank": GramOfRows(random(80, 7)), "one": GramOfRows(random(1, 1)), "two": GramOfRows(random(2, 3)),
		"diagonal": diagonal, "each twice": twice, "small": &shrunk, "zeros": mat.NewDense(5, 5, nil),
	}
}

// TestSymmetricIsEigenSym: eigenvalues are gonum's to 1e-13 of the largest; eigenvectors, of all
// and of the top or lowest ones, are orthonormal and eigenvectors to 1e-11.
func TestSymmetricIsEigenSym(t *testing.T) {
	for name, a := range symmetricCases() {
		t.Run(name, func(t *testing.T) {
			n, _ := a.Dims()
			var want mat.EigenSym
			require.True(t, want.Factorize(mat.NewSymDense(n, mat.DenseCopyOf(a).RawMatrix().Data), true))
			values := want.Values(nil)
			s, ok := NewSymmetric(mat.DenseCopyOf(a))
			require.True(t, ok)
			assert.InDeltaSlice(t, values, s.Values, 1e-13*max(values[n-1], 1e-300))
			for _, part := range [][2]int{{0, n}, {n / 2, n}, {0, (n + 1) / 2}} {
				u, ok := s.vectors(part[0], part[1])
				require.True(t, ok)
				size := part[1] - part[0]
				assert.True(t, mat.EqualApprox(Identity(size), GramOfColumns(u), 1e-11))
				var left, right mat.Dense
				left.Mul(a, u)
				right.Mul(u, mat.NewDiagDense(size, s.Values[part[0]:part[1]]))
				assert.True(t, mat.EqualApprox(&left, &right, 1e-11*values[n-1]))
			}
			for _, k := range []int{1, (n + 1) / 2, n} { // of the k largest
				p, ok := s.Projector(k)
				require.True(t, ok)
				assert.InDelta(t, k, mat.Trace(p), 1e-9)
				var held mat.Dense
				held.Mul(p, a)
				assert.InDelta(t, floats.Sum(values[n-k:]), mat.Trace(&held), 1e-9*max(values[n-1], 1e-300))
			}
		})
	}
}
