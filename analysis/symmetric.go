package analysis

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// symmetric is a symmetric matrix A [n, n] as Q T Q^T: Q is a product of Householder reflections, T
// tridiagonal with diagonal d [n] and e [n-1] next to it. Its eigenvalues take 4/3 n^3
// multiplications, and eigenvectors 2 n^2 more each, where a whole mat.EigenSym takes about 9 n^3.
type symmetric struct {
	n                int
	d, e             []float64
	reflections, tau []float64
	values           []float64 // eigenvalues, ascending
	scale            float64   // a power of two that A has been divided by
}

// newSymmetric takes a apart, which it overwrites; ok is false where the eigenvalues are not found.
func newSymmetric(a *mat.Dense) (s *symmetric, ok bool) {
	raw := a.RawMatrix()
	n := raw.Rows
	_, exponent := math.Frexp(mat.Norm(a, 1))
	scale := math.Ldexp(1, exponent) // so that squares stay in range
	a.Scale(1/scale, a)
	t := newTridiagonal(a)
	s = &symmetric{n: n, scale: scale, d: t.d, e: t.e, tau: t.tau, reflections: raw.Data}
	s.values = slices.Clone(s.d)
	ok = gonum.Implementation{}.Dsterf(n, s.values, slices.Clone(s.e))
	floats.Scale(s.scale, s.values)
	return s, ok
}

// vectors are the orthonormal eigenvectors [n, to-from] of the eigenvalues from one on and up to
// another, by inverse iteration on T (Golub & Van Loan, section 8.4.2), each orthogonal to those
// before it; ok is false where one is not found.
func (s *symmetric) vectors(from, to int) (u *mat.Dense, ok bool) {
	size := max(math.Abs(s.values[0]), math.Abs(s.values[s.n-1])) / s.scale
	if size == 0 {
		size = 1
	}
	draw := rand.New(rand.NewPCG(uint64(s.n), 1))
	rows := mat.NewDense(to-from, s.n, nil)
	for i := range to - from {
		if !s.iterate(rows, i, s.values[from+i]/s.scale, size, draw) {
			return nil, false
		}
	}
	u = mat.DenseCopyOf(rows.T())
	if s.n > 1 { // Q's reflections leave the first entry alone
		raw := u.RawMatrix()
		work := make([]float64, max(1, 64*raw.Cols+65*64))
		gonum.Implementation{}.Dormqr(blas.Left, blas.NoTrans, s.n-1, raw.Cols, s.n-1, s.reflections[s.n:], s.n, s.tau, raw.Data[raw.Stride:], raw.Stride, work, len(work))
	}
	return u, true
}

// Bounds on inverse iteration.
const (
	eigenIterations = 6
	eigenResidual   = 1e-13 // ||T x - l x|| of the largest eigenvalue's size, times sqrt(n)
)

// iterate makes row i of rows an eigenvector of T.
func (s *symmetric) iterate(rows *mat.Dense, i int, value, size float64, draw *rand.Rand) bool {
	x := rows.RawRowView(i)
	for j := range x {
		x[j] = draw.Float64() - 0.5
	}
	lu := s.factor(value, size)
	for k := range eigenIterations {
		lu.solve(x)
		floats.Scale(1/floats.Norm(x, math.Inf(1)), x)
		for range 2 { // the second time takes away what rounding left
			for j := range i {
				floats.AddScaled(x, -floats.Dot(x, rows.RawRowView(j)), rows.RawRowView(j))
			}
			floats.Scale(1/floats.Norm(x, 2), x)
		}
		if k > 0 && s.residual(x, value) <= eigenResidual*math.Sqrt(float64(s.n))*size {
			return true
		}
	}
	return false
}

// residual is ||T x - value x||.
func (s *symmetric) residual(x []float64, value float64) float64 {
	sum := 0.0
	for i, v := range x {
		y := (s.d[i] - value) * v
		if i > 0 {
			y += s.e[i-1] * x[i-1]
		}
		if i+1 < s.n {
			y += s.e[i] * x[i+1]
		}
		sum += y * y
	}
	return math.Sqrt(sum)
}

// tridiagonalLU is P (T - l I) = L U with row exchanges: U has a diagonal and two more above it.
type tridiagonalLU struct {
	u, u1, u2, l []float64
	exchanged    []bool
}

// factor takes T - value I apart; a pivot of 0 becomes a small one.
func (s *symmetric) factor(value, size float64) tridiagonalLU {
	n := s.n
	f := tridiagonalLU{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]bool, n)}
	least := size * 0x1p-52
	diagonal, above := s.d[0]-value, 0.0 // of the row that is to be eliminated from
	if n > 1 {
		above = s.e[0]
	}
	for i := range n - 1 {
		below, next, after := s.e[i], s.d[i+1]-value, 0.0
		if i+2 < n {
			after = s.e[i+1]
		}
		if math.Abs(below) > math.Abs(diagonal) {
			f.exchanged[i] = true
			f.l[i] = diagonal / below
			f.u[i], f.u1[i], f.u2[i] = below, next, after
			diagonal, above = above-f.l[i]*next, -f.l[i]*after
			continue
		}
		if math.Abs(diagonal) < least {
			diagonal = least
		}
		f.l[i] = below / diagonal
		f.u[i], f.u1[i] = diagonal, above
		diagonal, above = next-f.l[i]*above, after
	}
	if math.Abs(diagonal) < least {
		diagonal = least
	}
	f.u[n-1] = diagonal
	return f
}

// solve replaces x by (T - l I)^-1 x.
func (f tridiagonalLU) solve(x []float64) {
	n := len(x)
	for i := range n - 1 {
		if f.exchanged[i] {
			x[i], x[i+1] = x[i+1], x[i]
		}
		x[i+1] -= f.l[i] * x[i]
	}
	for i := n - 1; i >= 0; i-- {
		if i+1 < n {
			x[i] -= f.u1[i] * x[i+1]
		}
		if i+2 < n {
			x[i] -= f.u2[i] * x[i+2]
		}
		x[i] /= f.u[i]
	}
}
