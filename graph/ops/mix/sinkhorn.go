package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// sinkhorn makes the coefficients of mHC.
type sinkhorn struct {
	streamGates
	iterations int
}

// sinkhornStreams is the largest number of streams of SinkhornCoefficients.
const sinkhornStreams = 64

// SinkhornCoefficients makes the mixing coefficients of manifold-constrained
// hyper-connections (mHC, arXiv 2512.24880, section 4.2) with n streams:
//
//	zt = alpha[group] * z + bias            groups pre [n], post [n], res [n, n]
//	pre = sigmoid(zt_pre),  post = 2 sigmoid(zt_post),  H = Sinkhorn(zt_res)
//	c_i = [ pre_i | H_1i ... H_ni | post_i ]
//
// H[i, j] mixes stream j into stream i; c has the transpose. Sinkhorn is exp(zt_res - max),
// then iterations times its columns (sums over i) divided by their sums, and then its rows:
// the sums of H's rows are exact, those of its columns as far as it has converged.
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
	return b.Apply(sinkhorn{streamGates{n, n*n + 2*n}, iterations}, z, alpha, bias)
}

func (k sinkhorn) String() string {
	return fmt.Sprintf("SinkhornCoefficients(n=%d, iterations=%d)", k.n, k.iterations)
}

func (k sinkhorn) params(z graph.Signature) kernel.SinkhornParams {
	return kernel.SinkhornParams{Tokens: z.Leading(), N: k.n, Iterations: k.iterations}
}

func (k sinkhorn) VJP(d *graph.Derivative) {
	k.gradients(d, "SinkhornCoefficients", sinkhornGrad{sinkhorn: k})
}

func (k sinkhorn) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runSinkhorn[float32], runSinkhorn[float64])
}

func runSinkhorn[T kernel.Float](k sinkhorn, c *graph.Call) error {
	graph.State[kernel.Sinkhorn[T]](c).Forward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 2), k.params(c.Signature(0)))
	return nil
}

// sinkhornGrad is dz; see streamGatesGrad.
type sinkhornGrad struct {
	streamGatesGrad
	sinkhorn sinkhorn
}

func (k sinkhornGrad) String() string { return "GradZ of " + k.sinkhorn.String() }

func (k sinkhornGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runSinkhornGrad[float32], runSinkhornGrad[float64])
}

func runSinkhornGrad[T kernel.Float](k sinkhornGrad, c *graph.Call) error {
	dalpha, accumulateAlpha := graph.SecondaryOut[T](c, 0)
	dbias, accumulateBias := graph.SecondaryOut[T](c, 1)
	graph.State[kernel.Sinkhorn[T]](c).Backward(c.Pool(), graph.Out[T](c), dalpha, dbias, graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 2), graph.In[T](c, 3),
		accumulateAlpha, accumulateBias, k.sinkhorn.params(c.Signature(1)))
	return nil
}
