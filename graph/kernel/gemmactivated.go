package kernel

// GemmActivated computes a matrix product together with an activation of its result, block by block
// while the block is in cache.
type GemmActivated[T Float] struct {
	gemm   Gemm[T]
	task   activateTask[T]
	blocks taskOfBlocks
}

// SetWeights makes Forward read the weight from w; nil undoes this.
func (k *GemmActivated[T]) SetWeights(w *Weights) { k.gemm.Weights = w }

// Forward computes h = x w and y = f(h) from x [rows, in] and w [in, out], which is stored as [out,
// in] if transposed.
func (k *GemmActivated[T]) Forward(p *Pool, y, h, x, w []T, rows, in, out int, transposed bool, f Activation) {
	k.task = activateTask[T]{y: y[:rows*out], x: h[:rows*out], f: f, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = k.blocks.of(&k.task, out)
	k.gemm.Run(p, false, transposed, rows, out, in, 1, x, in, w, choose(transposed, in, out), 0, h, out)
}

// Backward computes dh = (dy w^T) f'(h), the gradient of h, given that y = f(h) w: dy [rows, out],
// h and dh [rows, in], w [in, out], stored as [out, in] if transposed.
func (k *GemmActivated[T]) Backward(p *Pool, dh, h, dy, w []T, rows, in, out int, transposed bool, f Activation) {
	k.task = activateTask[T]{y: dh[:rows*in], dy: dh, x: h[:rows*in], f: f, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = k.blocks.of(&k.task, in)
	k.gemm.Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, dh, in)
}
