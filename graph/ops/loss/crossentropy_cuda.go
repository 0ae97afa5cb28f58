package loss

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/ops/linear"
)

// lossThreads is the block size of the loss's kernels, cuda/crossentropy.cu.
const lossThreads = 1024

// deviceLoss is a loss that is being made on a device, a chunk of tokens at a time.
type deviceLoss struct {
	lossConfig
	c *graph.DeviceCall

	x, w, targets cuda.Array // [tokens, features]; the unembedding; [tokens]
	status        cuda.Array // a lossStatus
	losses, logZ  cuda.Array // [tokens]
	logits        cuda.Array // [chunk, stride], turned into dlogits
	dx, dw        cuda.Array // like x and w; none: not wanted
	addW          bool

	tokens, features, vocab int
	chunk                   int // tokens at a time
	stride                  int // between the logits' rows, which begin at 32 bytes
}

// deviceLoss prepares what every loss needs; losses is none where they are not an output.
func (k lossConfig) deviceLoss(c *graph.DeviceCall, status, losses cuda.Array) (l *deviceLoss) {
	l = &deviceLoss{lossConfig: k, c: c, status: status, losses: losses, targets: c.In(2), tokens: c.Signature(0).Leading()}
	l.features, l.vocab = linear.Product{Transposed: k.transposed}.Sides(c.Signature(1))
	l.stride = logitStride(l.vocab)
	l.chunk = k.chunk(l.tokens, l.stride)
	l.x, l.w = c.Operands()
	if l.losses.None() {
		l.losses = c.Scratch(cuda.F32, l.tokens)
	}
	l.logZ = c.Scratch(cuda.F32, l.tokens)
	l.logits = c.Scratch(cuda.F32, l.chunk*l.stride)
	return l
}

// run makes the losses of all tokens, and the gradients that are wanted.
func (l *deviceLoss) run() {
	l.c.Launch("loss_targets", cuda.Grid{X: 1, Threads: lossThreads},
		l.status, l.targets, cuda.Long(l.tokens), cuda.Int(l.vocab))
	for first := 0; first < l.tokens; first += l.chunk {
		n := min(l.chunk, l.tokens-first)
		l.makeLogits(first, n)
		l.rows(first, n)
		l.gradX(first, n)
		l.gradW(first, n)
	}
}

// makeLogits sets logits [n, vocab] = scale * x [n, features] w.
func (l *deviceLoss) makeLogits(first, n int) {
	l.c.Gemm(cuda.Gemm{
		TransB: l.transposed, M: n, N: l.vocab, K: l.features, Alpha: l.scale,
		A: l.x.Slice(first*l.features, n*l.features), LDA: l.features, B: l.w, LDB: l.c.Signature(1).Width(),
		C: l.logits, LDC: l.stride,
	})
}

// rows makes the losses of n tokens and, where a gradient is wanted, turns their logits
// into dlogits.
func (l *deviceLoss) rows(first, n int) {
	grid := cuda.Grid{X: n, Threads: lossThreads}
	losses, logZ, targets := l.losses.Slice(first, n), l.logZ.Slice(first, n), l.targets.Slice(first, n)
	if l.dx.None() && l.dw.None() {
		l.c.Launch("loss_rows_f32", grid,
			losses, logZ, l.logits.Touching(n*l.stride*l.logits.Type.Size()), targets, cuda.Long(l.stride), cuda.Int(l.vocab), cuda.Float(l.softCap))
		return
	}
	gradients, _ := l.gradients()
	l.c.Launch("loss_gradients"+gradients.Suffix(), grid,
		losses, logZ, l.logits.Touching(n*l.stride*(l.logits.Type.Size()+gradients.Type.Size())), targets, l.status,
		cuda.Long(l.stride), cuda.Int(l.vocab), cuda.Float(l.zLoss), cuda.Float(l.softCap))
}

// gradients are the logits' memory as dlogits [chunk, vocab], operands of matrix products,
// and the distance between their rows.
func (l *deviceLoss) gradients() (d cuda.Array, stride int) {
	t := l.x.Type
	narrower := cuda.F32.Size() / t.Size()
	return cuda.Array{Ptr: l.logits.Ptr, Type: t, N: l.logits.N * narrower}, l.stride * narrower
}

// gradX sets dx [n, features] = scale * dlogits [n, vocab] w^T.
func (l *deviceLoss) gradX(first, n int) {
	if l.dx.None() {
		return
	}
	d, stride := l.gradients()
	l.c.Gemm(cuda.Gemm{
		TransB: !l.transposed, M: n, N: l.features, K: l.vocab, Alpha: l.scale,
		A: d, LDA: stride, B: l.w, LDB: l.c.Signature(1).Width(),
		C: l.dx.Slice(first*l.features, n*l.features), LDC: l.features,
	})
}

// gradW adds the chunk's part scale * x^T dlogits, or its transpose, to dw.
func (l *deviceLoss) gradW(first, n int) {
	if l.dw.None() {
		return
	}
	d, stride := l.gradients()
	product := cuda.Gemm{
		TransA: true, M: l.features, N: l.vocab, K: n, Alpha: l.scale,
		A: l.x.Slice(first*l.features, n*l.features), LDA: l.features, B: d, LDB: stride, C: l.dw, LDC: l.vocab,
	}
	if l.transposed {
		product.M, product.N, product.LDC = l.vocab, l.features, l.features
		product.A, product.LDA, product.B, product.LDB = d, stride, product.A, l.features
	}
	if l.addW || first > 0 {
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
