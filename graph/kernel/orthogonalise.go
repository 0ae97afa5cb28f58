package kernel

// The quintic of Muon's Newton-Schulz iteration (Jordan 2024): five times
//
//	A = X X^T;   X <- 3.4445 X + (-4.7750 A + 2.0315 A A) X
//
// moves singular values between about 0.003 and 1 into 0.68..1.21. It does not converge to 1, and
// more iterations are not better.
const (
	schulzLinear  = 3.4445
	schulzCubic   = -4.7750
	schulzQuintic = 2.0315
	schulzSteps   = 5
)

// orthogonaliser runs the Newton-Schulz iteration on one goroutine. X is rows x columns, A the Gram
// matrix of its smaller side. All polynomials of A commute with it and are symmetric, so that only
// half of each product is computed, and several steps may be taken on A before X is updated,
//
//	B = 3.4445 I - 4.7750 A + 2.0315 A A;   Q <- B Q;   A <- B B A        and then X <- Q X,
//
// which saves products with X. With r rows and c = p r columns, and counting half a product of r x
// r matrices as 1, the cost is 6 p + 14 instead of 15 p + 5. All five steps on one A would lose the
// small singular values to rounding; with two Gram matrices the result is as exact as in the
// published iteration.
type orthogonaliser[T Float] struct {
	gemm          Gemm[T]
	rows, columns int
	side          int // the smaller of the two
	x, y          []T // X, and its next value
	a, b, q, c    []T // [side, side]
}

// prepare makes room for X and returns it for the caller to fill.
func (o *orthogonaliser[T]) prepare(rows, columns int) []T {
	o.rows, o.columns, o.side = rows, columns, min(rows, columns)
	o.x, o.y = grow(o.x, rows*columns), grow(o.y, rows*columns)
	n := o.side * o.side
	o.a, o.b, o.q, o.c = grow(o.a, n), grow(o.b, n), grow(o.q, n), grow(o.c, n)
	return o.x
}

// run runs the iteration and returns X, which is valid until the next prepare.
func (o *orthogonaliser[T]) run() []T {
	for _, steps := range [...]int{2, schulzSteps - 2} { // numbers of steps, each on one Gram matrix
		o.advance(steps)
	}
	return o.x
}

// advance takes several steps on the Gram matrix, and applies them to X.
func (o *orthogonaliser[T]) advance(steps int) {
	n := o.side
	if o.rows <= o.columns {
		o.symmetric(o.a, false, true, o.columns, 1, o.x, o.columns, o.x, o.columns, 0)
	} else {
		o.symmetric(o.a, true, false, o.rows, 1, o.x, n, o.x, n, 0)
	}
	for step := range steps {
		o.polynomial()
		if step > 0 {
			o.commuting(o.c, o.b, o.q)
			o.q, o.c = o.c, o.q
		}
		if step+1 < steps {
			o.commuting(o.c, o.b, o.a)
			o.commuting(o.a, o.b, o.c)
		}
		if step == 0 {
			o.q, o.b = o.b, o.q
		}
	}
	if o.rows <= o.columns {
		o.gemm.Run(nil, false, false, n, o.columns, n, 1, o.q, n, o.x, o.columns, 0, o.y, o.columns)
	} else {
		o.gemm.Run(nil, false, false, o.rows, n, n, 1, o.x, n, o.q, n, 0, o.y, n)
	}
	o.x, o.y = o.y, o.x
}

// polynomial computes b = 3.4445 I - 4.7750 a + 2.0315 a a.
func (o *orthogonaliser[T]) polynomial() {
	o.gemm.addend = o.a
	o.symmetric(o.b, false, false, o.side, schulzQuintic, o.a, o.side, o.a, o.side, schulzCubic)
	o.gemm.addend = nil
	for i := range o.side {
		o.b[i*o.side+i] += schulzLinear
	}
}

// commuting computes to = f g for symmetric matrices that commute.
func (o *orthogonaliser[T]) commuting(to, f, g []T) {
	o.symmetric(to, false, false, o.side, 1, f, o.side, g, o.side, 0)
}

// symmetric computes a product that is symmetric, to = alpha op(f) op(g) + beta (the addend's
// content): it computes the lower half and copies it to the upper.
func (o *orthogonaliser[T]) symmetric(to []T, tf, tg bool, k int, alpha T, f []T, ldf int, g []T, ldg int, beta T) {
	n := o.side
	o.gemm.lower = true
	o.gemm.Run(nil, tf, tg, n, n, k, alpha, f, ldf, g, ldg, beta, to, n)
	o.gemm.lower = false
	mirror(pathOf[T](o.gemm.path), to, n)
}

// mirrorRows is the number of rows of a symmetric matrix that are copied at a time.
const mirrorRows = 16

// mirror copies the part of an n x n matrix below the diagonal to the part above it.
func mirror[T Float](p path, x []T, n int) {
	for first := 0; first < n; first += mirrorRows {
		end := min(first+mirrorRows, n)
		transpose(p, x[first:], n, x[first*n:], n, end-first, first)
		for i := first; i < end; i++ {
			for j := first; j < i; j++ {
				x[j*n+i] = x[i*n+j]
			}
		}
	}
}
