package loss

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/linear"
)

// lossThreads is the block size of the kernels in cuda/crossentropy.cu.
const lossThreads = 1024

// deviceLoss computes a loss on a device, a chunk of tokens at a time.
type deviceLoss struct {
	lossConfig
	c *graph.DeviceCall

	x, targets   cuda.Array // [tokens, features]; [tokens]
	w            cuda.Array // the unembedding; its columns from vocab to columns are zero
	status       cuda.Array // a lossStatus
	losses, logZ cuda.Array // [tokens]
	logits       cuda.Array // [chunk, stride], in the type of x; later overwritten by dlogits, zero beyond the vocabulary
	dx, dw       cuda.Array // like x and w; the zero Array: not wanted
	addW         bool

	tokens, features, vocab int
	chunk                   int // number of tokens at a time
	stride                  int // distance between rows of logits
	columns                 int // columns of logits that the products compute: vocab, or stride if vocab is uneven
}

// deviceLoss prepares what every loss needs. losses is the zero Array if they are not an output.
func (k lossConfig) deviceLoss(c *graph.DeviceCall, status, losses cuda.Array) (l *deviceLoss) {
	l = &deviceLoss{lossConfig: k, c: c, status: status, losses: losses, targets: c.In(2), tokens: c.Signature(0).Leading()}
	l.features, l.vocab = linear.Product{Transposed: k.transposed}.Sides(c.Signature(1))
	l.x, l.w = c.Operands()
	l.columns, l.stride = l.vocab, logitStride(l.vocab)
	l.chunk = k.chunk(l.tokens, l.stride, l.x.Type)
	if l.losses.None() {
		l.losses = c.Scratch(cuda.F32, l.tokens)
	}
	l.logZ = c.Scratch(cuda.F32, l.tokens)
	l.logits = c.Scratch(l.x.Type, l.chunk*l.stride)
	l.padUnembedding()
	return l
}

// padUnembedding copies an uneven unembedding into one that is padded to stride tokens.
func (l *deviceLoss) padUnembedding() {
	if !uneven(l.vocab, l.w.Type) {
		return
	}
	w := l.w
	l.w, l.columns = l.c.Scratch(w.Type, l.features*l.stride), l.stride
	if l.transposed {
		l.c.CopyTo(l.w.Slice(0, w.N), w)
		l.c.Zero(l.w.Slice(w.N, l.w.N-w.N))
		return
	}
	l.c.Zero(l.w)
	l.c.Launch("columns"+w.Suffix(), cuda.QuadRows(l.features, l.vocab), l.w, cuda.Int(l.stride), w, cuda.Ints(l.vocab, l.features, l.vocab))
}

// rowOfW returns the length of a row of w.
func (l *deviceLoss) rowOfW() int {
	if l.transposed {
		return l.features
	}
	return l.columns
}

// run computes the losses of all tokens, and the gradients that are wanted.
func (l *deviceLoss) run() {
	l.c.Launch("loss_targets", cuda.Grid{X: 1, Threads: lossThreads},
		l.status, l.targets, cuda.Long(l.tokens), cuda.Int(l.vocab))
	dw := l.startW()
	for first := 0; first < l.tokens; first += l.chunk {
		n := min(l.chunk, l.tokens-first)
		l.makeLogits(first, n)
		l.rows(first, n)
		l.gradX(first, n)
		l.gradW(first, n)
	}
	l.finishW(dw)
}

// startW prepares the gradient of a padded unembedding, and returns the memory into which finishW
// copies it.
func (l *deviceLoss) startW() (dw cuda.Array) {
	dw = l.dw
	if !dw.None() && l.columns != l.vocab {
		l.dw = l.c.Scratch(cuda.F32, l.features*l.stride)
	}
	return dw
}

// finishW copies the gradient of a padded unembedding to dw.
func (l *deviceLoss) finishW(dw cuda.Array) {
	if dw == l.dw {
		return
	}
	var addend cuda.Array
	if l.addW {
		addend = dw
	}
	rows, width, padded := l.features, l.vocab, l.stride
	if l.transposed {
		rows, width, padded = l.vocab, l.features, l.features
	}
	l.c.Launch("slice_grad_f32", cuda.QuadRows(rows, width), dw, addend, l.dw, cuda.Ints(rows, width, padded, 0))
}

// makeLogits computes logits [n, columns] = scale * x [n, features] w.
func (l *deviceLoss) makeLogits(first, n int) {
	l.c.Gemm(cuda.Gemm{
		TransB: l.transposed, M: n, N: l.columns, K: l.features, Alpha: l.scale,
		A: l.x.Slice(first*l.features, n*l.features), LDA: l.features, B: l.w, LDB: l.rowOfW(),
		C: l.logits, LDC: l.stride,
	})
}

// rows computes the losses of n tokens and, if a gradient is wanted, overwrites their logits with
// dlogits.
func (l *deviceLoss) rows(first, n int) {
	grid, chunk := cuda.Grid{X: n, Threads: lossThreads}, n*l.stride*l.logits.Type.Size()
	losses, logZ, targets := l.losses.Slice(first, n), l.logZ.Slice(first, n), l.targets.Slice(first, n)
	if l.dx.None() && l.dw.None() {
		l.c.Launch("loss_rows"+l.logits.Suffix(), grid,
			losses, logZ, l.logits.Touching(chunk), targets, cuda.Long(l.stride), cuda.Int(l.vocab), cuda.Float(l.softCap))
		return
	}
	l.c.Launch("loss_gradients"+l.logits.Suffix(), grid,
		losses, logZ, l.logits.Touching(2*chunk), targets, l.status,
		cuda.Long(l.stride), cuda.Int(l.vocab), cuda.Float(l.zLoss), cuda.Float(l.softCap))
}

// gradX computes dx [n, features] = scale * dlogits [n, columns] w^T.
func (l *deviceLoss) gradX(first, n int) {
	if l.dx.None() {
		return
	}
	l.c.Gemm(cuda.Gemm{
		TransB: !l.transposed, M: n, N: l.features, K: l.columns, Alpha: l.scale,
		A: l.logits, LDA: l.stride, B: l.w, LDB: l.rowOfW(),
		C: l.dx.Slice(first*l.features, n*l.features), LDC: l.features,
	})
}

// gradW adds the chunk's scale * x^T dlogits, or its transpose, to dw.
func (l *deviceLoss) gradW(first, n int) {
	if l.dw.None() {
		return
	}
	product := cuda.Gemm{
		TransA: true, M: l.features, N: l.columns, K: n, Alpha: l.scale,
		A: l.x.Slice(first*l.features, n*l.features), LDA: l.features, B: l.logits, LDB: l.stride, C: l.dw, LDC: l.columns,
	}
	if l.transposed {
		product.M, product.N, product.LDC = l.columns, l.features, l.features
		product.A, product.LDA, product.B, product.LDB = l.logits, l.stride, product.A, l.features
	}
	if first > 0 || l.addW && l.columns == l.vocab {
		product.Beta = 1
	}
	l.c.Gemm(product)
}

func (k crossEntropy) Launch(c *graph.DeviceCall) {
	status := c.Saved(&k.parts.device, cuda.F64, lossStatusSize)
	l := k.deviceLoss(c, status, cuda.Array{})
	l.dx, _ = c.SecondaryOut(0)
	dw, addW, finish := c.FloatSecondary(1)
	l.dw, l.addW = dw, addW
	l.run()
	finish()
	c.Launch("loss_sum", cuda.Grid{X: 1, Threads: lossThreads},
		c.Out(), status, l.losses, l.logZ, cuda.Long(l.tokens), cuda.Double(k.zLoss))
}

func (k tokenLosses) Launch(c *graph.DeviceCall) {
	status := c.Scratch(cuda.F64, lossStatusSize)
	k.deviceLoss(c, status, c.Out()).run()
}
