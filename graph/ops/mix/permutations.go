package mix

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// permutationStreams is the largest number of streams of PermutationCoefficients: five would have
// 120 permutations.
const permutationStreams = 4

// Permutations returns n!, the number of permutations that PermutationCoefficients mixes.
func Permutations(n int) int { return columnsOf(kernel.Permutations, n) - 2*n }

// PermutationCoefficients computes the mixing coefficients of mHC-lite (arXiv 2601.05732) with n
// streams, 1 to 4:
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n], res [n!]
//	pre = sigmoid(zt_pre),  post = 2 sigmoid(zt_post)
//	a = softmax(zt_res),  H = sum over r of a_r P_r,  P_r[i, perm_r(i)] = 1
//	c_i = [ pre_i | H_1i ... H_ni | post_i ]
//
// over the permutations in the lexicographic order of (perm(0), ..., perm(n-1)), the
// identity first. H[i, j] mixes stream j into stream i; c has the transpose. H's rows and
// columns sum to 1 up to rounding.
//
// z [T, 2n + n!], alpha [3] (pre, post, res), bias [2n + n!], c [T, n, n+2].
func PermutationCoefficients(b *graph.Builder, z, alpha, bias *gorgonia.Node, n int) *gorgonia.Node {
	if !wantStreams(b, "PermutationCoefficients", n, permutationStreams) {
		return nil
	}
	return b.Apply(streamGates{n: n, carry: kernel.Permutations}, z, alpha, bias)
}
