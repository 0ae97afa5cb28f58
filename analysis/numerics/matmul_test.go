package numerics

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/mat"
)

func random(rows, columns int, seed uint64) *mat.Dense {
	draw := rand.New(rand.NewPCG(seed, 1))
	m := mat.NewDense(rows, columns, nil)
	m.Apply(func(_, _ int, _ float64) float64 { return draw.NormFloat64() }, m)
	return m
}

// TestProductIsGonums: products equal gonum's to 1e-13 of the size of a sum's terms, for sizes
// within and between tiles and blocks, and for operands that are transposed or parts of others.
func TestProductIsGonums(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {4, 12, 256}, {5, 13, 257}, {96, 1536, 30}, {97, 1537, 31}, {3, 2, 20001}, {12, 12, 16385}, {131, 67, 300}, {300, 7, 64}} {
		t.Run(fmt.Sprint(s), func(t *testing.T) {
			m, n, k := s[0], s[1], s[2]
			a, b := random(m+2, k+3, 1), random(k+1, n+5, 2)
			left, right := a.Slice(1, m+1, 2, k+2), b.Slice(1, k+1, 3, n+3)
			var want mat.Dense
			want.Mul(left, right)
			bound := 1e-13 * float64(k)
			assert.True(t, mat.EqualApprox(&want, Mul(left, right), bound))
			assert.True(t, mat.EqualApprox(&want, Mul(mat.DenseCopyOf(left.T()).T(), right), bound))
			assert.True(t, mat.EqualApprox(&want, Mul(left, mat.DenseCopyOf(right.T()).T()), bound))
			assert.True(t, mat.EqualApprox(want.T(), Mul(right.T(), left.T()), bound))
		})
	}
}

// TestProductDoesNotDependOnCores: one and three cores compute the same bits.
func TestProductDoesNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, s := range [][3]int{{200, 130, 300}, {130, 200, 300}, {12, 13, 24576}} {
		a, b := random(s[0], s[2], 1), random(s[2], s[1], 2)
		runtime.GOMAXPROCS(1)
		one := Mul(a, b)
		runtime.GOMAXPROCS(3)
		assert.Equal(t, one, Mul(a, b), s)
	}
}

// TestSizesThatDoNotMatchPanic: sizes that do not match panic, as in mat.Dense.Mul.
func TestSizesThatDoNotMatchPanic(t *testing.T) {
	assert.Panics(t, func() { Mul(random(40, 50, 1), random(60, 70, 2)) })
}
