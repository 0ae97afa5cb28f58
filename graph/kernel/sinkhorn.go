package kernel

// sinkhornMap computes the matrices of manifold-constrained hyper-connections (mHC, arXiv
// 2512.24880, section 4.2). The n x n logits of a token become a doubly stochastic matrix by the
// algorithm of Sinkhorn and Knopp (1967):
//
//	M = exp(logits - max),  then iterations times: M_ij /= sum over i of M_ij,  M_ij /= sum over j of M_ij
//
// Rows come last: they sum to 1 up to rounding, columns as far as the iteration has converged. The
// first step cancels max, whatever it is; here it is the column's largest logit, so that no column
// vanishes, and a logit counts as at most 80 (float64: 700) below it, so that no row does.
type sinkhornMap[T Float] struct {
	steps []T // [1 + 2 * iterations, n*n, gatedTokens], M after each step
}

// step returns M after i steps.
func (k *sinkhornMap[T]) step(i, n int) []T {
	size := n * n * gatedTokens
	return k.steps[i*size : (i+1)*size]
}

func (k *sinkhornMap[T]) forward(p path, logits []T, d StreamGatesParams) []T {
	n := d.N
	k.steps = grow(k.steps, (1+2*d.Iterations)*n*n*gatedTokens)
	m := k.step(0, n)
	copy(m, logits)
	sinkhornStart(p, m, n)
	softmaxExp(p, m, 0)
	for i := range d.Iterations {
		sinkhorn(p, k.step(2*i+2, n), k.step(2*i+1, n), k.step(2*i, n), n)
	}
	return k.step(2*d.Iterations, n)
}

// backward goes through the steps in reverse with g = dM * M, the gradient of M's logarithm: for y
// = x / sum(x), the gradient of log x is g - y * sum(g). There are no quotients that could
// overflow.
func (k *sinkhornMap[T]) backward(p path, dlogits, dh []T, d StreamGatesParams) {
	n := d.N
	multiply(p, dlogits, dh, k.step(2*d.Iterations, n))
	for i := d.Iterations - 1; i >= 0; i-- {
		sinkhornGradient(p, dlogits, k.step(2*i+2, n), k.step(2*i+1, n), n)
	}
}

// sinkhornStart subtracts the largest entry of each column of x [n*n, gatedTokens], and limits the
// differences.
func sinkhornStart[T Float](p path, x []T, n int) {
	if p > portable && n >= 2 && n <= 4 {
		fastSinkhornStart(p, x, n)
		return
	}
	low := T(-80)
	if !isSingle[T]() {
		low = -700
	}
	for t := range gatedTokens {
		for j := range n {
			largest := x[j*gatedTokens+t]
			for e := j; e < n*n; e += n {
				largest = max(largest, x[e*gatedTokens+t])
			}
			for e := j; e < n*n; e += n {
				x[e*gatedTokens+t] = max(x[e*gatedTokens+t]-largest, low)
			}
		}
	}
}

// sinkhorn computes one iteration: columns is x with normalised columns, rows is columns with
// normalised rows, each [n*n, gatedTokens].
func sinkhorn[T Float](p path, rows, columns, x []T, n int) {
	if p > portable && n >= 2 && n <= 4 {
		fastSinkhorn(p, rows, columns, x, n)
		return
	}
	for g := range n {
		normalizeGroup(p, columns, x, n, g, n)
	}
	for g := range n {
		normalizeGroup(p, rows, columns, n, g*n, 1)
	}
}

// normalizeGroup divides n entries of x, which begin at first and lie step apart, by their
// sum.
func normalizeGroup[T Float](p path, y, x []T, n, first, step int) {
	var sum [gatedTokens]T
	for i := range n {
		addTo(p, sum[:], entryOf(x, first+i*step))
	}
	for t, v := range sum {
		sum[t] = 1 / v
	}
	for i := range n {
		multiply(p, entryOf(y, first+i*step), entryOf(x, first+i*step), sum[:])
	}
}

// sinkhornGradient turns g, the gradient of log(rows), into the gradient of log(x); see
// sinkhorn.
func sinkhornGradient[T Float](p path, g, rows, columns []T, n int) {
	if p > portable && n >= 2 && n <= 4 {
		fastSinkhornGradient(p, g, rows, columns, n)
		return
	}
	for i := range n {
		groupGradient(p, g, rows, n, i*n, 1)
	}
	for j := range n {
		groupGradient(p, g, columns, n, j, n)
	}
}

// groupGradient subtracts from n entries of g, which begin at first and lie step apart, y
// times their sum.
func groupGradient[T Float](p path, g, y []T, n, first, step int) {
	var sum [gatedTokens]T
	for i := range n {
		addTo(p, sum[:], entryOf(g, first+i*step))
	}
	scaleTo(p, sum[:], sum[:], -1)
	for i := range n {
		addProducts(p, entryOf(g, first+i*step), entryOf(y, first+i*step), sum[:])
	}
}

// The assembly for n of 2, 3 and 4 gets the first of the n*n entries, and reads and writes all of
// them.

func fastSinkhornStart[T Float](p path, x []T, n int) {
	first := x[:n*n*gatedTokens][:gatedTokens]
	switch n {
	case 2:
		fastSinkhornStart2(p, first)
	case 3:
		fastSinkhornStart3(p, first)
	case 4:
		fastSinkhornStart4(p, first)
	}
}

func fastSinkhorn[T Float](p path, rows, columns, x []T, n int) {
	size := n * n * gatedTokens
	rows, columns, x = rows[:size][:gatedTokens], columns[:size][:gatedTokens], x[:size][:gatedTokens]
	switch n {
	case 2:
		fastSinkhorn2(p, rows, columns, x)
	case 3:
		fastSinkhorn3(p, rows, columns, x)
	case 4:
		fastSinkhorn4(p, rows, columns, x)
	}
}

func fastSinkhornGradient[T Float](p path, g, rows, columns []T, n int) {
	size := n * n * gatedTokens
	g, rows, columns = g[:size][:gatedTokens], rows[:size][:gatedTokens], columns[:size][:gatedTokens]
	switch n {
	case 2:
		fastSinkhornGradient2(p, g, rows, columns)
	case 3:
		fastSinkhornGradient3(p, g, rows, columns)
	case 4:
		fastSinkhornGradient4(p, g, rows, columns)
	}
}
