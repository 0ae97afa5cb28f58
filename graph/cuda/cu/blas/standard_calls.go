package cublas

import "gonum.org/v1/gonum/blas"

// Sgemm computes C = alpha op(A) op(B) + beta C.
func (s *Standard) Sgemm(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int, b []float32, ldb int, beta float32, c []float32, ldc int) {
	s.run(gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
}

// Dgemm computes C = alpha op(A) op(B) + beta C.
func (s *Standard) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	s.run(gemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
}

// Sgemv computes y = alpha op(A) x + beta y.
func (s *Standard) Sgemv(tA blas.Transpose, m, n int, alpha float32, a []float32, lda int, x []float32, incX int, beta float32, y []float32, incY int) {
	s.run(gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY))
}

// Dgemv computes y = alpha op(A) x + beta y.
func (s *Standard) Dgemv(tA blas.Transpose, m, n int, alpha float64, a []float64, lda int, x []float64, incX int, beta float64, y []float64, incY int) {
	s.run(gemv(tA, m, n, alpha, a, lda, x, incX, beta, y, incY))
}

// Sger computes A = alpha x y^T + A.
func (s *Standard) Sger(m, n int, alpha float32, x []float32, incX int, y []float32, incY int, a []float32, lda int) {
	s.run(ger(m, n, alpha, x, incX, y, incY, a, lda))
}

// Dger computes A = alpha x y^T + A.
func (s *Standard) Dger(m, n int, alpha float64, x []float64, incX int, y []float64, incY int, a []float64, lda int) {
	s.run(ger(m, n, alpha, x, incX, y, incY, a, lda))
}

func gemm[T float](tA, tB blas.Transpose, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) GemmEx {
	stored, compute := types[T]()
	return GemmEx{
		TransA: operation(tA), TransB: operation(tB), M: m, N: n, K: k, Alpha: float64(alpha), Beta: float64(beta),
		A: address(a), AType: stored, LDA: lda, B: address(b), BType: stored, LDB: ldb,
		C: address(c), CType: stored, LDC: ldc, Compute: compute,
	}
}

// gemv returns the product y^T = alpha x^T op(A)^T + beta y^T, which takes the vectors as matrices
// of one row: their increments become the distances between columns.
func gemv[T float](tA blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int) GemmEx {
	if tA == blas.NoTrans {
		return gemm(blas.NoTrans, blas.Trans, 1, m, n, alpha, x, incX, a, lda, beta, y, incY)
	}
	return gemm(blas.NoTrans, blas.NoTrans, 1, n, m, alpha, x, incX, a, lda, beta, y, incY)
}

// ger returns the product A = alpha x y^T + A, which takes x^T and y^T as matrices of one row.
func ger[T float](m, n int, alpha T, x []T, incX int, y []T, incY int, a []T, lda int) GemmEx {
	return gemm(blas.Trans, blas.NoTrans, m, n, 1, alpha, x, incX, y, incY, 1, a, lda)
}
