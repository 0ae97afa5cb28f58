package mix

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// sigmoidStreams is the largest number of streams of SigmoidCoefficients.
const sigmoidStreams = 1 << 12

// SigmoidOptions describe SigmoidCoefficients.
type SigmoidOptions struct {
	N      int     // rows of the stream
	Write  bool    // there are factors for writing, besides those for reading
	Factor float64 // largest factor for writing, above 0; 0: 2
	Eps    float64 // added to every factor
}

// SigmoidCoefficients computes a factor for each of n rows to read it and, with Write, one to write
// it, as independent hyper-connections do (Tencent Hy4, transformers' hy_v4):
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n]
//	c_i = [ sigmoid(zt_pre_i) + eps | factor sigmoid(zt_post_i) + eps ]
//
// z [T, 2n], alpha [2], bias [2n], c [T, n, 2], packed for Read and Write without carry: rows are
// carried as they are. Without Write there is only pre: z [T, n], alpha [1], bias [n], c [T, n, 1].
// If z and alpha are nil, zt = bias, and c [n, 2] or [n, 1] is the same for all tokens.
func SigmoidCoefficients(b *graph.Builder, z, alpha, bias *gorgonia.Node, o SigmoidOptions) *gorgonia.Node {
	if !wantStreams(b, "SigmoidCoefficients", o.N, sigmoidStreams) {
		return nil
	}
	k := streamGates{n: o.N, carry: kernel.ReadOnly, post: o.Factor, eps: o.Eps, fixed: z == nil && alpha == nil}
	if o.Write {
		k.carry = kernel.Unmixed
	}
	if k.fixed {
		return b.Apply(k, bias)
	}
	return b.Apply(k, z, alpha, bias)
}
