package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// gatedRead reads from a stream of several rows by gates.
type gatedRead struct{}

// GatedRead reads what a sublayer works on from a stream of n rows by a gate for each entry, as gated
// residuals do (arXiv 2608.30320; transformers' qwen4_exp):
//
//	u_t = 1/n sum over i of sigmoid(a_t[i]) ⊙ z_t[i]
//
// z [T, n, d] is the stream, normalised; a T tokens of n*d gates before the sigmoid; u [T, d].
func GatedRead(b *graph.Builder, z, a *gorgonia.Node) *gorgonia.Node {
	return b.Apply(gatedRead{}, z, a)
}

func (gatedRead) String() string { return "GatedRead" }

func (gatedRead) FLOPs(c graph.Cost) int { return 2 * c.Signature(0).Size() }

func (gatedRead) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := graph.WantFloats(in); err != nil {
		return graph.Signature{}, err
	}
	z, a := in[0], in[1]
	if err := graph.WantDims(z, 3, "stream", "[tokens, n, d]"); err != nil {
		return graph.Signature{}, err
	}
	if a.Shape.Dims() < 2 || a.Leading() != z.Shape[0] || a.Width() != z.Width() {
		return graph.Signature{}, errors.Errorf("gates: want %d tokens of %d entries for a stream %v, got %v", z.Shape[0], z.Width(), z.Shape, a.Shape)
	}
	return graph.Signature{DType: z.DType, Shape: graph.WithTokens(z.Shape[0], z.Shape[2])}, nil
}

// gatedParams are the sizes of a stream [tokens, n, d].
func gatedParams(h graph.Signature) kernel.GatedParams {
	return kernel.GatedParams{Tokens: h.Shape[0], N: h.Shape[1], D: h.Shape[2]}
}

func (k gatedRead) VJP(d *graph.Derivative) {
	primary := d.Apply(gatedReadGrad{}, d.Gradient(), d.Input(0), d.Input(1))
	d.Set(1, primary)
	if d.Wants(0) {
		d.SetSecondary(0, primary, 0, "GradZ of GatedRead")
	}
}

func (k gatedRead) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runGatedRead[float32], runGatedRead[float64])
}

func runGatedRead[T kernel.Float](_ gatedRead, c *graph.Call) error {
	graph.State[kernel.GatedRead[T]](c).Forward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1), gatedParams(c.Signature(0)))
	return nil
}

// gatedReadGrad is da; its secondary is dz. Inputs: du, z, a.
type gatedReadGrad struct{ graph.NoGradient }

func (gatedReadGrad) String() string { return "GradA of GatedRead" }

func (gatedReadGrad) FLOPs(c graph.Cost) int { // da, and dz
	return (1 + c.Secondary(0)) * 2 * c.Signature(1).Size()
}

func (gatedReadGrad) Infer(in []graph.Signature) (graph.Signature, error) { return in[2], nil }

func (gatedReadGrad) InPlace(i int) bool { return i == 2 }

func (k gatedReadGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runGatedReadGrad[float32], runGatedReadGrad[float64])
}

func runGatedReadGrad[T kernel.Float](_ gatedReadGrad, c *graph.Call) error {
	dz, accumulate := graph.SecondaryOut[T](c, 0)
	graph.State[kernel.GatedRead[T]](c).Backward(c.Pool(), graph.Out[T](c), dz, graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 2), accumulate, gatedParams(c.Signature(1)))
	return nil
}

// gatedHidden is the hidden layer of a gated residual. Inputs: x.
type gatedHidden struct{ rank, n int }

// GatedHidden is the hidden layer between a gated residual's projections down and up: the SiLU of
// the first columns of x, divided by the number n of the stream's rows,
//
//	h_t = silu(x_t[:rank] / n),   silu(v) = v sigmoid(v)
//
// x [T, k], k >= rank; h [T, rank]. GatedWrite uses the last n columns.
func GatedHidden(b *graph.Builder, x *gorgonia.Node, rank, n int) *gorgonia.Node {
	return b.Apply(gatedHidden{rank, n}, x)
}

func (k gatedHidden) String() string { return fmt.Sprintf("GatedHidden(rank=%d, n=%d)", k.rank, k.n) }

func (k gatedHidden) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := graph.WantFloats(in); err != nil {
		return graph.Signature{}, err
	}
	x := in[0]
	if k.n < 1 || k.rank < 1 {
		return graph.Signature{}, errors.Errorf("want rank and n of at least 1, got %d and %d", k.rank, k.n)
	}
	if x.Shape.Dims() != 2 || x.Width() < k.rank {
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, k] with k at least the rank %d, got %v", k.rank, x.Shape)
	}
	return graph.Signature{DType: x.DType, Shape: graph.WithTokens(x.Leading(), k.rank)}, nil
}

func (k gatedHidden) params(x graph.Signature) kernel.GatedParams {
	return kernel.GatedParams{Tokens: x.Leading(), N: k.n, Width: x.Width()}
}

func (k gatedHidden) VJP(d *graph.Derivative) {
	d.Set(0, d.ApplyAccumulating(gatedHiddenGrad{of: k}, d.Gradient(), d.Input(0)))
}

func (k gatedHidden) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runGatedHidden[float32], runGatedHidden[float64])
}

func runGatedHidden[T kernel.Float](k gatedHidden, c *graph.Call) error {
	graph.State[kernel.GatedHidden[T]](c).Forward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), k.rank, k.params(c.Signature(0)))
	return nil
}

// gatedHiddenGrad is dx. Inputs: dh, x and, where dx is to be added to it, the gradient that x has
// from elsewhere.
type gatedHiddenGrad struct {
	graph.NoGradient
	of gatedHidden
}

func (k gatedHiddenGrad) String() string { return "GradX of " + k.of.String() }

func (k gatedHiddenGrad) Infer(in []graph.Signature) (graph.Signature, error) { return in[1], nil }

func (gatedHiddenGrad) InPlace(i int) bool { return i == 2 }

func (k gatedHiddenGrad) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runGatedHiddenGrad[float32], runGatedHiddenGrad[float64])
}

func runGatedHiddenGrad[T kernel.Float](k gatedHiddenGrad, c *graph.Call) error {
	graph.State[kernel.GatedHidden[T]](c).Backward(c.Pool(), graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1), graph.In[T](c, 2), k.of.rank, k.of.params(c.Signature(1)))
	return nil
}
