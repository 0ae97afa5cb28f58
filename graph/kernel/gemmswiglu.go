package kernel

// GemmSwiGLU is a matrix product with the product of a SwiGLU made of its result, block by block
// while that is in cache.
type GemmSwiGLU[T Float] struct {
	gemm     Gemm[T]
	forward  swiGLUOfBlock[T]
	backward swiGLUGradientOfBlock[T]
}

// Forward computes value = x w and y = silu(gate) ⊙ value from x [rows, in], w [in, out] and
// gate [rows, out].
func (k *GemmSwiGLU[T]) Forward(p *Pool, y, value, gate, x, w []T, rows, in, out int) {
	k.forward = swiGLUOfBlock[T]{y: y[:rows*out], gate: gate[:rows*out], value: value[:rows*out], width: out, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = &k.forward
	k.gemm.Run(p, false, false, rows, out, in, 1, x, in, w, out, 0, value, out)
	k.forward = swiGLUOfBlock[T]{} // keeps no operand alive
}

// Backward computes the gradients of the gate and the value [rows, in] whose silu(gate) ⊙ value
// a product with w [in, out] (stored [out, in] where transposed) turned into y, from dy
// [rows, out]:
//
//	d = dy w^T;  dgate = d ⊙ value ⊙ silu'(gate);  dvalue = d ⊙ silu(gate)
func (k *GemmSwiGLU[T]) Backward(p *Pool, dgate, dvalue, gate, value, dy, w []T, rows, in, out int, transposed bool) {
	n := rows * in
	k.backward = swiGLUGradientOfBlock[T]{dgate: dgate[:n], dvalue: dvalue[:n], gate: gate[:n], value: value[:n], width: in, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = &k.backward
	k.gemm.Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, dvalue, in)
	k.backward = swiGLUGradientOfBlock[T]{}
}

// swiGLUOfBlock sets y = silu(gate) ⊙ value.
type swiGLUOfBlock[T Float] struct {
	y, gate, value []T // [rows, width]
	width          int
	path           path
}

// Block implements Epilogue.
func (e *swiGLUOfBlock[T]) Block(i, j, m, n int) {
	for first := i*e.width + j; m > 0; first, m = first+e.width, m-1 {
		swiGLU(e.path, e.y[first:first+n], e.gate[first:first+n], e.value[first:first+n])
	}
}

// swiGLUGradientOfBlock takes the gradient of the product, which is in dvalue, on to both factors.
type swiGLUGradientOfBlock[T Float] struct {
	dgate, dvalue, gate, value []T // [rows, width]
	width                      int
	path                       path
}

// Block implements Epilogue.
func (e *swiGLUGradientOfBlock[T]) Block(i, j, m, n int) {
	for first := i*e.width + j; m > 0; first, m = first+e.width, m-1 {
		end := first + n
		d := e.dvalue[first:end]
		swiGLUGradient(e.path, e.dgate[first:end], d, d, e.gate[first:end], e.value[first:end])
	}
}
