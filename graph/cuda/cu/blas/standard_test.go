package cublas

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
	"gorgonia.org/cu/internal/standin"
)

func newStandard(t *testing.T) *Standard {
	t.Helper()
	s := &Standard{}
	require.NoError(t, s.Init(WithContext(use(t))))
	require.Nil(t, s.handle, "made at the first call")
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// multiply computes what the stand-in was asked for by the textbook definition, with matrices
// stored by columns.
func multiply(p standin.Product, a, b, c []float64) {
	at := func(x []float64, op, ld int64, i, j int64) float64 {
		if op == int64(OpT) {
			i, j = j, i
		}
		return x[i+j*ld]
	}
	for i := range p.Args[2] {
		for j := range p.Args[3] {
			sum := 0.0
			for l := range p.Args[4] {
				sum += at(a, p.Args[0], p.Args[7], i, l) * at(b, p.Args[1], p.Args[11], l, j)
			}
			c[i+j*p.Args[15]] = p.Alpha*sum + p.Beta*c[i+j*p.Args[15]]
		}
	}
}

// The vector calls become products of matrices: this compares them with gonum's, which stores
// matrices by rows.
func TestGemvIsAProduct(t *testing.T) {
	s := newStandard(t)
	const m, n, lda, incX, incY = 3, 4, 5, 2, 3
	a, v := numbers(lda*n), numbers(incX*n)
	for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
		got, want := numbers(incY*n), numbers(incY*n)
		s.Dgemv(tA, m, n, 2, a, lda, v, incX, -1, got, incY)
		require.NoError(t, s.Err())
		multiply(gpu.LastProduct(), v, a, got)
		flipped := map[blas.Transpose]blas.Transpose{blas.NoTrans: blas.Trans, blas.Trans: blas.NoTrans}[tA]
		gonum.Implementation{}.Dgemv(flipped, n, m, 2, a, lda, v, incX, -1, want, incY)
		require.Equal(t, want, got)
	}
}

func TestGerIsAProduct(t *testing.T) {
	s := newStandard(t)
	const m, n, lda, incX, incY = 3, 4, 5, 2, 3
	x, y, got, want := numbers(incX*m), numbers(incY*n), numbers(lda*n), numbers(lda*n)
	s.Dger(m, n, 2, x, incX, y, incY, got, lda)
	require.NoError(t, s.Err())
	multiply(gpu.LastProduct(), x, y, got)
	gonum.Implementation{}.Dger(n, m, 2, y, incY, x, incX, want, lda)
	require.Equal(t, want, got)
}

func numbers(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i*i%17) - 5
	}
	return x
}

func TestGemmPassesThrough(t *testing.T) {
	s := newStandard(t)
	a, b, c := make([]float32, 20), make([]float32, 20), make([]float32, 20)
	s.Sgemm(blas.Trans, blas.NoTrans, 2, 3, 4, 0.5, a, 5, b, 6, 0.25, c, 7)
	require.NoError(t, s.Err())
	p := gpu.LastProduct()
	require.Equal(t, [20]int64{1, 0, 2, 3, 4, int64(address(a)), 0, 5, 0, int64(address(b)), 0, 6, 0, int64(address(c)), 0, 7, 0, 0, 68, -1}, p.Args)
	require.Equal(t, [2]float64{0.5, 0.25}, [2]float64{p.Alpha, p.Beta})
	s.Dgemm(blas.NoTrans, blas.ConjTrans, 2, 3, 4, 1, numbers(1), 5, numbers(1), 6, 0, numbers(1), 7)
	p = gpu.LastProduct()
	require.Equal(t, [20]int64{0, 2, 2, 3, 4, p.Args[5], 1, 5, 0, p.Args[9], 1, 6, 0, p.Args[13], 1, 7, 0, 0, 70, -1}, p.Args)
	s.Sgemv(blas.Trans, 2, 3, 1, a, 5, b, 1, 0, c, 1)
	p = gpu.LastProduct()
	require.Equal(t, []int64{0, 0, 1, 3, 2}, p.Args[:5])
	s.Sger(2, 3, 1, a, 1, b, 1, c, 7)
	p = gpu.LastProduct()
	require.Equal(t, []int64{1, 0, 2, 3, 1}, p.Args[:5])
}

func TestErrIsTheLastCalls(t *testing.T) {
	s := newStandard(t)
	x := make([]float64, 9)
	gpu.FailProduct(13)
	s.Dger(3, 3, 1, x, 1, x, 1, x, 3)
	require.ErrorContains(t, s.Err(), "CUBLAS_STATUS_EXECUTION_FAILED")
	s.Dger(3, 3, 1, x, 1, x, 1, x, 3)
	require.NoError(t, s.Err())
}
