package kernel

// keyProducts sums, over the tokens, the gradient of keys that all tokens share: the products
//
//	y_t X_t^T   [r, dk]
//
// of y_t [r, dv] and the matrices X_t [dk, dv]. A micro-kernel wants the rows of one of them as
// columns. keyProducts transposes y, if it is small and its rows fill vectors, and otherwise X; an
// element of the product is the same sum in the same order either way. treeSums sums over the
// tokens, so the bits do not depend on the number of threads.
type keyProducts[T Float] struct {
	treeSums[T]
	block   block[T]
	r, dk   int
	smaller bool  // y is transposed, and the sum is [dk, r]
	turned  [][]T // the transposed operand of the tokens of a call, for each worker
	atOnce  int   // the largest number of these tokens
}

// want prepares a run. At its end store writes the total to dkeys [r, dk], or adds it if
// accumulate is true. If dkeys is nil, the total is not wanted, and workers have no block to
// add to.
func (k *keyProducts[T]) want(p *Pool, path path, dkeys []T, accumulate bool, r, dk, dv int) {
	k.treeSums.want(p, path, dkeys, accumulate)
	k.r, k.dk = r, dk
	k.smaller = r%kernelsOf[T](path).lanes == 0 && 2*r <= dk
	if k.smaller {
		k.block = newBlock[T](path, dk, r, dv, false)
	} else {
		k.block = newBlock[T](path, r, dk, dv, false)
	}
	k.atOnce = tokensAtOnce[T](k.block.m*dv + 2*k.block.n*dv) // one operand twice, to transpose it
	k.turned = growRows(k.turned, p, k.atOnce*k.block.n*dv)
}

// add adds the products of n tokens, at most atOnce, to sum, a worker's block, one after another.
func (k *keyProducts[T]) add(worker, n int, sum, y, x []T) {
	b, turned := k.block, k.turned[worker] // a copy, as workers set its addresses
	if k.smaller {
		x, y = y, x
	}
	size := b.n * b.tile.k
	for i := range n {
		transpose(b.kernels.path, turned[i*size:], b.n, x[i*size:], b.tile.k, b.n, b.tile.k)
	}
	b.multiplyTokens(n, tokenSteps{a: b.m * b.tile.k, b: size}, sum, y, turned, sum)
}

// store writes the total.
func (k *keyProducts[T]) store(p *Pool) {
	if k.out == nil || !k.smaller {
		k.treeSums.store(p)
		return
	}
	total := k.total(p)
	for i := range k.out {
		store(&k.out[i], total[i%k.dk*k.r+i/k.dk], k.accumulate)
	}
}
