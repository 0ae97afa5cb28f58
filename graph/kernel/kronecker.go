package kernel

import "math/bits"

// factorsOf returns log2(n).
func factorsOf(n int) int { return bits.Len(uint(n)) - 1 }

// kroneckerMap computes the matrices of KromHC (arXiv 2601.21579). A token's matrix is a Kronecker
// product of 2 x 2 matrices, one for each binary digit of a stream's number, the most significant
// first:
//
//	(a_k, b_k) = softmax(logits_2k, logits_2k+1),   U_k = [[a_k, b_k], [b_k, a_k]],   H = U_1 ⊗ ... ⊗ U_K
//
// H is symmetric, and its rows and columns sum to 1 up to rounding. H[i, j] depends only on i XOR
// j, the digits in which i and j differ, so that n numbers determine it.
type kroneckerMap[T Float] struct {
	u  []T // [2K, gatedTokens], a_k and b_k
	g  []T // [2n-1, gatedTokens], the products of the first 0, 1, .. K factors, with 1, 2, .. n entries
	h  []T // [n*n, gatedTokens]
	dg []T // [n, gatedTokens]
}

// product returns the products of the first k factors, [2^k, gatedTokens].
func (k *kroneckerMap[T]) product(factors int) []T {
	m := 1 << factors
	return k.g[(m-1)*gatedTokens : (2*m-1)*gatedTokens]
}

func (k *kroneckerMap[T]) forward(p path, logits []T, d StreamGatesParams) []T {
	n := d.N
	k.u, k.g, k.h = grow(k.u, len(logits)), grow(k.g, (2*n-1)*gatedTokens), grow(k.h, n*n*gatedTokens)
	for f := range factorsOf(n) { // the softmax of two numbers is a sigmoid of their difference
		keep, swap := entryOf(k.u, 2*f), entryOf(k.u, 2*f+1)
		copy(keep, entryOf(logits, 2*f))
		addMultiple(p, keep, entryOf(logits, 2*f+1), -1)
		scaleTo(p, swap, keep, -1)
	}
	sigmoid(p, k.u, k.u)
	for t := range gatedTokens {
		k.g[t] = 1
	}
	for f := range factorsOf(n) {
		from, to := k.product(f), k.product(f+1)
		for x := range 1 << (f + 1) {
			multiply(p, entryOf(to, x), entryOf(from, x/2), entryOf(k.u, 2*f+x%2))
		}
	}
	all := k.product(factorsOf(n))
	for e := range n * n {
		copy(entryOf(k.h, e), entryOf(all, e/n^e%n))
	}
	return k.h
}

// backward starts with dg, the gradient of the products of all factors, and goes from the products
// of k+1 factors back to those of k factors:
//
//	du_k[bit] = sum over x of dg[2x+bit] g[x];   dg[x] <- sum over bit of dg[2x+bit] u_k[bit]
//
// The gradients of a pair's logits are a b (da - db) and its negative.
func (k *kroneckerMap[T]) backward(p path, dlogits, dh []T, d StreamGatesParams) {
	n := d.N
	k.dg = grow(k.dg, n*gatedTokens)
	clear(k.dg)
	clear(dlogits)
	for e := range n * n {
		addTo(p, entryOf(k.dg, e/n^e%n), entryOf(dh, e))
	}
	for f := factorsOf(n) - 1; f >= 0; f-- {
		keep, swap, from := entryOf(dlogits, 2*f), entryOf(dlogits, 2*f+1), k.product(f)
		a, b := entryOf(k.u, 2*f), entryOf(k.u, 2*f+1)
		for x := range 1 << f {
			da, db, g := entryOf(k.dg, 2*x), entryOf(k.dg, 2*x+1), entryOf(from, x)
			addProducts(p, keep, da, g)
			addProducts(p, swap, db, g)
			to := entryOf(k.dg, x)
			multiply(p, to, da, a) // at x = 0, da is to, and is not used again
			addProducts(p, to, db, b)
		}
		addMultiple(p, keep, swap, -1)
		multiply(p, keep, keep, a)
		multiply(p, keep, keep, b)
		scaleTo(p, swap, keep, -1)
	}
}
