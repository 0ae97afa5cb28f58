package mix

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// kroneckerStreams is the largest number of streams of KroneckerCoefficients.
const kroneckerStreams = 64

// KroneckerCoefficients computes the mixing coefficients of KromHC (arXiv 2601.21579) with n
// streams, n a power of two, K = log2(n):
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n], res [K, 2]
//	pre = sigmoid(zt_pre),  post = 2 sigmoid(zt_post)
//	(a_k, b_k) = softmax(zt_res[k]),  U_k = [[a_k, b_k], [b_k, a_k]],  H = U_1 ⊗ ... ⊗ U_K
//	c_i = [ pre_i | H_1i ... H_ni | post_i ]
//
// U_1 belongs to the most significant binary digit of a stream's number. H is symmetric, and its
// rows and columns sum to 1 up to rounding.
//
// z [T, 2n + 2K], alpha [3] (pre, post, res), bias [2n + 2K], c [T, n, n+2].
func KroneckerCoefficients(b *graph.Builder, z, alpha, bias *gorgonia.Node, n int) *gorgonia.Node {
	if !wantStreams(b, "KroneckerCoefficients", n, kroneckerStreams) {
		return nil
	}
	if n&(n-1) != 0 {
		b.Fail(errors.Errorf("graph: KroneckerCoefficients: n: want a power of two, got %d", n))
		return nil
	}
	return b.Apply(streamGates{n: n, carry: kernel.Kronecker}, z, alpha, bias)
}
