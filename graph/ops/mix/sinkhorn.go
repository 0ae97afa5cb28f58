package mix

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// sinkhornStreams is the largest number of streams of SinkhornCoefficients.
const sinkhornStreams = 64

// SinkhornCoefficients computes the mixing coefficients of manifold-constrained hyper-connections
// (mHC, arXiv 2512.24880, section 4.2) with n streams:
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n], res [n, n]
//	pre = sigmoid(zt_pre),  post = 2 sigmoid(zt_post),  H = Sinkhorn(zt_res)
//	c_i = [ pre_i | H_1i ... H_ni | post_i ]
//
// H[i, j] mixes stream j into stream i; c has the transpose. Sinkhorn starts with exp(zt_res - max)
// and repeats the given number of iterations: it divides the columns by their sums (over i), and
// then the rows by theirs. H's rows therefore sum to 1 up to rounding, its columns as far as the
// iteration has converged.
//
// z [T, 2n + n*n], alpha [3] (pre, post, res), bias [2n + n*n], c [T, n, n+2].
func SinkhornCoefficients(b *graph.Builder, z, alpha, bias *gorgonia.Node, n, iterations int) *gorgonia.Node {
	if !wantStreams(b, "SinkhornCoefficients", n, sinkhornStreams) {
		return nil
	}
	if iterations < 1 {
		b.Fail(errors.Errorf("graph: SinkhornCoefficients: iterations: want at least 1, got %d", iterations))
		return nil
	}
	return b.Apply(streamGates{n: n, carry: kernel.Sinkhorn, iterations: iterations}, z, alpha, bias)
}
