package kernel

// GemmActivated is a matrix product with an activation of what it makes, block by block
// while that is in cache.
type GemmActivated[T Float] struct {
	gemm   Gemm[T]
	task   activateTask[T]
	blocks taskOfBlocks
}

// SetWeights makes Forward read the weight from w, unless that is nil.
func (k *GemmActivated[T]) SetWeights(w *Weights) { k.gemm.Weights = w }

// Forward computes h = x w and y = f(h) from x [rows, in] and w [in, out], or w stored
// [out, in] where transposed.
func (k *GemmActivated[T]) Forward(p *Pool, y, h, x, w []T, rows, in, out int, transposed bool, f Activation) {
	k.task = activateTask[T]{y: y[:rows*out], x: h[:rows*out], f: f, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = k.blocks.of(&k.task, out)
	k.gemm.Run(p, false, transposed, rows, out, in, 1, x, in, w, choose(transposed, in, out), 0, h, out)
}

// Backward computes dh = (dy w^T) f'(h), the gradient of the h whose activation a product
// with w [in, out] (stored [out, in] where transposed) turned into y: dy [rows, out] to
// dh [rows, in]; h [rows, in].
func (k *GemmActivated[T]) Backward(p *Pool, dh, h, dy, w []T, rows, in, out int, transposed bool, f Activation) {
	k.task = activateTask[T]{y: dh[:rows*in], dy: dh, x: h[:rows*in], f: f, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = k.blocks.of(&k.task, in)
	k.gemm.Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, dh, in)
}
