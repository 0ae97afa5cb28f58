package kernel

// GemmSwiGLU computes a matrix product together with the product of a SwiGLU, block by block while
// the block is in cache.
type GemmSwiGLU[T Float] struct {
	gemm   Gemm[T]
	task   swiGLUTask[T]
	blocks taskOfBlocks
}

// SetWeights makes Forward read the weight from w; nil undoes this.
func (k *GemmSwiGLU[T]) SetWeights(w *Weights) { k.gemm.Weights = w }

// Forward computes value = x w and y = silu(gate) ⊙ value from x [rows, in], w [in, out] and
// gate [rows, out].
func (k *GemmSwiGLU[T]) Forward(p *Pool, y, value, gate, x, w []T, rows, in, out int) {
	k.task = swiGLUTask[T]{y: y[:rows*out], gate: gate[:rows*out], value: value[:rows*out], path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = k.blocks.of(&k.task, out)
	k.gemm.Run(p, false, false, rows, out, in, 1, x, in, w, out, 0, value, out)
}

// Backward computes the gradients of gate and value [rows, in], given that y = (silu(gate) ⊙ value)
// w with w [in, out], stored as [out, in] if transposed, from dy [rows, out]:
//
//	d = dy w^T;  dgate = d ⊙ value ⊙ silu'(gate);  dvalue = d ⊙ silu(gate)
func (k *GemmSwiGLU[T]) Backward(p *Pool, dgate, dvalue, gate, value, dy, w []T, rows, in, out int, transposed bool) {
	n := rows * in
	k.task = swiGLUTask[T]{y: dgate[:n], dvalue: dvalue[:n], dy: dvalue, gate: gate[:n], value: value[:n], path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = k.blocks.of(&k.task, in)
	k.gemm.Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, dvalue, in)
}
