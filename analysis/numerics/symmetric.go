package numerics

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/mat"
)

// Symmetric is a symmetric matrix A [n, n] as Q T Q^T: Q is a product of Householder reflections, T
// tridiagonal with diagonal d [n] and e [n-1] next to it. Its eigenvalues take 4/3 n^3
// multiplications, and eigenvectors 2 n^2 more each, where a whole mat.EigenSym takes about 9 n^3.
type Symmetric struct {
	Values []float64 // eigenvalues, ascending

	n                int
	a                []float64
	d, e             []float64
	reflections, tau []float64
	scale            float64 // a power of two that A has been divided by
}

// NewSymmetric decomposes a. ok is false if the eigenvalues are not found.
func NewSymmetric(a *mat.Dense) (s *Symmetric, ok bool) {
	whole := a.RawMatrix().Data
	a = mat.DenseCopyOf(a)
	raw := a.RawMatrix()
	n := raw.Rows
	_, exponent := math.Frexp(mat.Norm(a, 1))
	s = &Symmetric{n: n, a: whole, scale: math.Ldexp(1, exponent), d: make([]float64, n), e: make([]float64, n-1), tau: make([]float64, n-1),
		reflections: raw.Data}
	a.Scale(1/s.scale, a) // so that squares stay in range
	work := make([]float64, lapackBlock*n)
	gonum.Implementation{}.Dsytrd(blas.Lower, n, raw.Data, raw.Stride, s.d, s.e, s.tau, work, len(work))
	s.Values = slices.Clone(s.d)
	ok = gonum.Implementation{}.Dsterf(n, s.Values, slices.Clone(s.e))
	floats.Scale(s.scale, s.Values)
	return s, ok
}

// lapackBlock is the largest number of columns that LAPACK processes at a time; for this the
// workspace needs as many rows.
const lapackBlock = 64

// Projector returns P = U U^T [n, n], where the columns of U are the eigenvectors of the k largest
// eigenvalues, k at least 1. If the other eigenvectors are fewer, it computes those, and subtracts
// their projector from I. ok is false if the eigenvectors are not found.
func (s *Symmetric) Projector(k int) (p *mat.Dense, ok bool) {
	if rest := s.n - k; rest > 0 && rest < k {
		if u, ok := s.vectors(0, rest); ok {
			p := GramOfRows(u)
			p.Sub(Identity(s.n), p)
			return p, true
		}
	} else if u, ok := s.vectors(rest, s.n); ok {
		return GramOfRows(u), true
	}
	var whole mat.EigenSym // slower, and finds them whatever the matrix
	if !whole.Factorize(mat.NewSymDense(s.n, s.a), true) {
		return nil, false
	}
	var u mat.Dense
	whole.VectorsTo(&u)
	return GramOfRows(u.Slice(0, s.n, s.n-k, s.n).(*mat.Dense)), true
}

// vectors returns the orthonormal eigenvectors [n, to-from] of eigenvalues[from:to], by inverse
// iteration on T (Golub & Van Loan, section 8.4.2), each made orthogonal to those before it. ok is
// false if one is not found.
func (s *Symmetric) vectors(from, to int) (u *mat.Dense, ok bool) {
	size := max(math.Abs(s.Values[0]), math.Abs(s.Values[s.n-1])) / s.scale
	if size == 0 {
		size = 1
	}
	draw := rand.New(rand.NewPCG(uint64(s.n), 1))
	rows := mat.NewDense(to-from, s.n, nil)
	for i := range to - from {
		if !s.iterate(rows, i, s.Values[from+i]/s.scale, size, draw) {
			return nil, false
		}
	}
	u = Transposed(rows)
	if s.n > 1 { // Q's reflections leave the first entry alone
		raw := u.RawMatrix()
		work := make([]float64, lapackBlock*raw.Cols+(lapackBlock+1)*lapackBlock)
		gonum.Implementation{}.Dormqr(blas.Left, blas.NoTrans, s.n-1, raw.Cols, s.n-1, s.reflections[s.n:], s.n, s.tau, raw.Data[raw.Stride:], raw.Stride, work,
			len(work))
	}
	return u, true
}

// Bounds on inverse iteration.
const (
	eigenIterations = 6
	eigenResidual   = 1e-13 // limit of ||T x - l x||, relative to sqrt(n) times the largest |eigenvalue|
)

// iterate computes an eigenvector of T in row i of rows.
func (s *Symmetric) iterate(rows *mat.Dense, i int, value, size float64, draw *rand.Rand) bool {
	x := rows.RawRowView(i)
	for j := range x {
		x[j] = draw.Float64() - 0.5
	}
	v := mat.NewVecDense(s.n, x)
	for k := range eigenIterations {
		if s.shifted(value+size*0x1p-52).SolveVecTo(v, false, v) != nil { // an eigenvalue itself may leave no inverse
			return false
		}
		floats.Scale(1/floats.Norm(x, math.Inf(1)), x)
		for range 2 { // the second time takes away what rounding left
			for j := range i {
				floats.AddScaled(x, -floats.Dot(x, rows.RawRowView(j)), rows.RawRowView(j))
			}
			floats.Scale(1/floats.Norm(x, 2), x)
		}
		var residual mat.VecDense // (T - value I) x
		s.shifted(value).MulVecTo(&residual, false, v)
		if k > 0 && mat.Norm(&residual, 2) <= eigenResidual*math.Sqrt(float64(s.n))*size {
			return true
		}
	}
	return false
}

// shifted returns T - shift I.
func (s *Symmetric) shifted(shift float64) *mat.Tridiag {
	diagonal := slices.Clone(s.d)
	floats.AddConst(-shift, diagonal)
	return mat.NewTridiag(s.n, s.e, diagonal, s.e)
}
