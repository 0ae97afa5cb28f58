package kernel

// GemmGelu is a matrix product with a GELU (see Gelu) on what it makes, block by block
// while that is in cache.
type GemmGelu[T Float] struct {
	gemm     Gemm[T]
	forward  geluOfBlock[T]
	backward geluGradientOfBlock[T]
}

// Forward computes h = x w and y = gelu(h) from x [rows, in] and w [in, out], or w stored
// [out, in] where transposed.
func (k *GemmGelu[T]) Forward(p *Pool, y, h, x, w []T, rows, in, out int, transposed, exact bool) {
	k.forward = geluOfBlock[T]{y: y[:rows*out], h: h[:rows*out], width: out, exact: exact, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = &k.forward
	k.gemm.Run(p, false, transposed, rows, out, in, 1, x, in, w, choose(transposed, in, out), 0, h, out)
	k.forward = geluOfBlock[T]{} // keeps no operand alive
}

// Backward computes dh = (dy w^T) gelu'(h), the gradient of the h whose GELU a product
// with w [in, out] (stored [out, in] where transposed) turned into y: dy [rows, out] to
// dh [rows, in]; h [rows, in].
func (k *GemmGelu[T]) Backward(p *Pool, dh, h, dy, w []T, rows, in, out int, transposed, exact bool) {
	k.backward = geluGradientOfBlock[T]{dh: dh[:rows*in], h: h[:rows*in], width: in, exact: exact, path: pathOf[T](k.gemm.path)}
	k.gemm.Epilogue = &k.backward
	k.gemm.Run(p, false, !transposed, rows, in, out, 1, dy, out, w, choose(transposed, in, out), 0, dh, in)
	k.backward = geluGradientOfBlock[T]{}
}

// geluOfBlock sets y = gelu(h).
type geluOfBlock[T Float] struct {
	y, h  []T // [rows, width]
	width int
	exact bool
	path  path
}

// Block implements Epilogue.
func (e *geluOfBlock[T]) Block(i, j, m, n int) {
	for first := i*e.width + j; m > 0; first, m = first+e.width, m-1 {
		y, h := e.y[first:first+n], e.h[first:first+n]
		if e.exact {
			geluExact(e.path, y, h)
		} else {
			geluTanh(e.path, y, h)
		}
	}
}

// geluGradientOfBlock multiplies dh by gelu'(h).
type geluGradientOfBlock[T Float] struct {
	dh, h []T // [rows, width]
	width int
	exact bool
	path  path
}

// Block implements Epilogue.
func (e *geluGradientOfBlock[T]) Block(i, j, m, n int) {
	for first := i*e.width + j; m > 0; first, m = first+e.width, m-1 {
		dh, h := e.dh[first:first+n], e.h[first:first+n]
		if e.exact {
			geluExactGradient(e.path, dh, dh, h)
		} else {
			geluTanhGradient(e.path, dh, dh, h)
		}
	}
}
