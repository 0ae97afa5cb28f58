package kernel

// GemmElementwise computes a matrix product and an element-wise function of it, block by block
// while the block is in cache, such as a feed-forward's activation after its first product.
type GemmElementwise[T Float] struct {
	gemm   Gemm[T]
	task   Elementwise[T]
	blocks taskOfBlocks
}

// SetWeights makes Run read b from w; nil undoes this.
func (g *GemmElementwise[T]) SetWeights(w *Weights) { g.gemm.Weights = w }

// Run computes c = a b from a [m, k] and b [k, n], which is stored as [n, k] if transposed, and
// then out = f(in), of which c may be an input, an output or both.
func (g *GemmElementwise[T]) Run(p *Pool, transposed bool, m, n, k int, a, b, c []T, f ElementFunc[T], out, in [][]T, numbers ...float64) {
	g.task.set(g.gemm.path, f, out, in, numbers)
	g.gemm.Epilogue = g.blocks.of(&g.task, n)
	g.gemm.Run(p, false, transposed, m, n, k, 1, a, k, b, choose(transposed, k, n), 0, c, n)
}
