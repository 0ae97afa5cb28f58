package linear

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// gemms holds the kernels of an op's matrix products: in float32 or float64, and in bfloat16 if
// activations are bfloat16.
type gemms[T kernel.Float] struct {
	float    kernel.Gemm[T]
	pairs    kernel.GemmBFloat16[float32]
	rounding kernel.GemmBFloat16[kernel.BFloat16]
	fused    kernel.FusedBFloat16
}

// sides says where a product's matrices begin and how far apart their rows are.
type sides struct{ a, lda, b, ldb, c, ldc int }

// multiply computes C = alpha op(A) op(B) + beta C in the op's precision. A is input ia and B is
// input ib, as matrix products read them, and C is the op's output. op(A) is [m, k], op(B) [k, n].
func multiply[T kernel.Float](c graph.CallOf[T], ta, tb bool, m, n, k int, alpha float64, ia, ib int, beta float64, at sides) {
	g := graph.State[gemms[T]](c)
	a, b := c.Half(ia), c.Half(ib)
	switch out := c.HalfOut(); {
	case a == nil:
		g.float.Weights = c.Weights(ib)
		g.float.Run(c.Pool(), ta, tb, m, n, k, T(alpha), c.In(ia)[at.a:], at.lda, c.In(ib)[at.b:], at.ldb, T(beta), c.Out()[at.c:], at.ldc)
	case out != nil:
		g.rounding.Run(c.Pool(), ta, tb, m, n, k, float32(alpha), a[at.a:], at.lda, b[at.b:], at.ldb, float32(beta), out[at.c:], at.ldc)
	default:
		g.pairs.Run(c.Pool(), ta, tb, m, n, k, float32(alpha), a[at.a:], at.lda, b[at.b:], at.ldb, float32(beta), graph.Float32s(c.Out())[at.c:], at.ldc)
	}
}

// multiplyWeight computes C = alpha A op(B) + beta C, where A is input 0 and B is the whole of
// input 1, a weight. In precision BF16 the weight is packed once for all products that read it in
// this form.
func multiplyWeight[T kernel.Float](c graph.CallOf[T], tb bool, m, n, k int, alpha, beta float64, at sides) {
	a := c.Half(0)
	if a == nil {
		multiply(c, false, tb, m, n, k, alpha, 0, 1, beta, at)
		return
	}
	g, w := graph.State[gemms[T]](c), c.Packed(1, tb, n, k)
	if out := c.HalfOut(); out != nil {
		g.rounding.RunPacked(c.Pool(), false, m, float32(alpha), a, at.lda, w, float32(beta), out, at.ldc)
		return
	}
	g.pairs.RunPacked(c.Pool(), false, m, float32(alpha), a, at.lda, w, float32(beta), graph.Float32s(c.Out()), at.ldc)
}
