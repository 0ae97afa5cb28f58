package kernel

// GemmActivated is a matrix product with an activation of what it makes, block by block
// while that is in cache.
type GemmActivated[T Float] struct {
	gemm     Gemm[T]
	forward  activationOfBlock[T]
	backward activationGradientOfBlock[T]
}

// Forward computes h = x w and y = f(h) from x [rows, in] and w [in, out], or w stored
// [out, in] where transposed.
func (k *GemmActivated[T]) Forward(p *Pool, y, h, x, w []T, rows, in, out int, transposed bool, f Activation) {
	k.forward = activationOfBlock[T]{y: y[:rows*out], h: h[:rows*out], width: out, f: f, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = &k.forward
	k.gemm.Run(p, false, transposed, rows, out, in, 1, x, in, w, choose(transposed, in, out), 0, h, out)
	k.forward = activationOfBlock[T]{} // keeps no operand alive
}

// Backward computes dh = (dy w^T) f'(h), the gradient of the h whose activation a product
// with w [in, out] (stored [out, in] where transposed) turned into y: dy [rows, out] to
// dh [rows, in]; h [rows, in].
func (k *GemmActivated[T]) Backward(p *Pool, dh, h, dy, w []T, rows, in, out int, transposed bool, f Activation) {
	k.backward = activationGradientOfBlock[T]{dh: dh[:rows*in], h: h[:rows*in], width: in, f: f, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = &k.backward
	k.gemm.Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, dh, in)
	k.backward = activationGradientOfBlock[T]{}
}

// activationOfBlock sets y = f(h).
type activationOfBlock[T Float] struct {
	y, h  []T // [rows, width]
	width int
	f     Activation
	path  path
}

// Block implements Epilogue.
func (e *activationOfBlock[T]) Block(i, j, m, n int) {
	for first := i*e.width + j; m > 0; first, m = first+e.width, m-1 {
		y, h := e.y[first:first+n], e.h[first:first+n]
		activate(e.path, e.f, y, h)
	}
}

// activationGradientOfBlock multiplies dh by f'(h).
type activationGradientOfBlock[T Float] struct {
	dh, h []T // [rows, width]
	width int
	f     Activation
	path  path
}

// Block implements Epilogue.
func (e *activationGradientOfBlock[T]) Block(i, j, m, n int) {
	for first := i*e.width + j; m > 0; first, m = first+e.width, m-1 {
		dh, h := e.dh[first:first+n], e.h[first:first+n]
		activateGradient(e.path, e.f, dh, dh, h)
	}
}
