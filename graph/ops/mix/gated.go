package mix

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// gatedRead reads a stream of several rows through gates. Inputs: x, z, w.
type gatedRead struct{}

// GatedRead computes a sublayer's input from a stream of n rows, with a gate for each entry, as
// gated residuals do (arXiv 2608.30320; transformers' qwen4_exp):
//
//	h_t = silu(x_t[:rank] / n),   silu(v) = v sigmoid(v);   a_t = h_t w
//	u_t = 1/n sum over i of sigmoid(a_t[i]) ⊙ z_t[i]
//
// z [T, n, d] is the normalised stream; x [T, k], k >= rank, its projection, whose last n columns
// GatedWrite uses; w [rank, n*d]; u [T, d]. On the CPU the gates a are never in memory as a whole.
func GatedRead(b *graph.Builder, z, x, w *gorgonia.Node) *gorgonia.Node {
	return b.Apply(gatedRead{}, x, z, w)
}

func (gatedRead) String() string { return "GatedRead" }

// FLOPs counts the product for a, and the sum.
func (gatedRead) FLOPs(c graph.Cost) int { return productFLOPs(c) + 2*c.Signature(1).Size() }

// productFLOPs counts the product h w.
func productFLOPs(c graph.Cost) int { return 2 * c.Signature(0).Leading() * c.Signature(2).Size() }

func (gatedRead) Infer(in []graph.Signature) (graph.Signature, error) {
	x, z, w := in[0], in[1], in[2]
	if err := graph.WantDims(z, 3, "stream", "[tokens, n, d]"); err != nil {
		return graph.Signature{}, err
	}
	if w.Shape.Dims() != 2 || w.Width() != z.Width() || w.Leading() < 1 {
		return graph.Signature{}, errors.Errorf("w: want shape [rank, %d], a gate for each entry of a stream %v, got %v", z.Width(), z.Shape, w.Shape)
	}
	if x.Shape.Dims() != 2 || x.Leading() != z.Shape[0] || x.Width() < w.Leading() {
		return graph.Signature{}, errors.Errorf("x: want shape [%d, k] with k at least the rank %d, got %v", z.Shape[0], w.Leading(), x.Shape)
	}
	return graph.Signature{DType: z.DType, Shape: graph.WithTokens(z.Shape[0], z.Shape[2])}, nil
}

// gatedParams returns the sizes of a stream [tokens, n, d] and its projection.
func gatedParams(h, x graph.Signature) kernel.GatedParams {
	return kernel.GatedParams{Tokens: h.Shape[0], N: h.Shape[1], D: h.Shape[2], Width: x.Width()}
}

// readParams returns the sizes of a read, or of its gradient.
func readParams(c signatures) kernel.GatedParams {
	p := gatedParams(c.Signature(1), c.Signature(0))
	p.Rank = c.Signature(2).Leading()
	return p
}

// signatures returns the signatures of an op's inputs.
type signatures interface{ Signature(i int) graph.Signature }

// DeviceBytes counts h and a.
func (gatedRead) DeviceBytes(c graph.Cost) (saved, scratch int) {
	p := readParams(c)
	return 0, p.Tokens * (p.Rank + p.N*p.D) * cuda.F32.Size()
}

func (k gatedRead) VJP(d *graph.Derivative) {
	primary := d.MakeAccumulating(gatedReadGrad{}, d.Input(0), d.Input(1), d.Input(2), d.Gradient())
	d.SetSecondary(1, primary, 0, "GradZ of GatedRead")
	d.SetSecondary(2, primary, 1, "GradW of GatedRead")
}

func (k gatedRead) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGatedRead, runGatedRead)
}

func runGatedRead[T kernel.Float](_ gatedRead, c graph.CallOf[T]) {
	graph.State[kernel.GatedRead[T]](c).Forward(c.Pool(), c.Out(), c.In(1), c.In(0), c.Operand(2), readParams(c))
}

// gatedReadGrad computes dx; its secondaries are dz and dw. Inputs: x, z, w, du and optionally the
// gradient of x from its other readers, to which dx is added.
type gatedReadGrad struct{ graph.NoGradient }

func (gatedReadGrad) String() string { return "GradX of GatedRead" }

// FLOPs counts da and da w^T, dz, and dw.
func (gatedReadGrad) FLOPs(c graph.Cost) int {
	return (1+c.Secondary(0))*2*c.Signature(1).Size() + (1+c.Secondary(1))*productFLOPs(c)
}

// DeviceBytes counts h and a, which their gradients overwrite.
func (gatedReadGrad) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return gatedRead{}.DeviceBytes(c)
}

func (gatedReadGrad) InPlace(i int) bool { return i == 4 }

func (k gatedReadGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGatedReadGrad, runGatedReadGrad)
}

func runGatedReadGrad[T kernel.Float](_ gatedReadGrad, c graph.CallOf[T]) {
	grads := kernel.GatedReadGrads[T]{X: c.Out(), Addend: c.In(4)}
	grads.Z, grads.AddToZ = c.SecondaryOut(0)
	grads.W, grads.AddToW = c.SecondaryOut(1)
	graph.State[kernel.GatedRead[T]](c).Backward(c.Pool(), grads, c.In(3), c.In(1), c.In(0), c.Operand(2), readParams(c))
}
