package mix

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// gatedWrite adds a sublayer's output to each row of a stream.
type gatedWrite struct{}

// GatedWrite adds a sublayer's output to each of a stream's n rows, with a separate factor for each
// row, as gated residuals do (arXiv 2608.30320; transformers' qwen4_exp):
//
//	s_t = 2 sigmoid(x_t[k-n:] / n);   R'_t[i] = R_t[i] + s_t[i] y_t
//
// r, R' [T, n, d]; y [T, d]; x [T, k], whose last n columns are used (GatedRead uses the others).
// The gradient of r equals the gradient of R'.
func GatedWrite(b *graph.Builder, r, y, x *gorgonia.Node) *gorgonia.Node {
	return b.Apply(gatedWrite{}, r, y, x)
}

func (gatedWrite) String() string { return "GatedWrite" }

func (gatedWrite) FLOPs(c graph.Cost) int { return 2 * c.Signature(0).Size() }

func (gatedWrite) Infer(in []graph.Signature) (graph.Signature, error) {
	r, y, x := in[0], in[1], in[2]
	if err := graph.WantDims(r, 3, "stream", "[tokens, n, d]"); err != nil {
		return graph.Signature{}, err
	}
	tokens, n, d := r.Shape[0], r.Shape[1], r.Shape[2]
	if y.Shape.Dims() < 2 || y.Leading() != tokens || y.Width() != d {
		return graph.Signature{}, errors.Errorf("y: want %d tokens of %d entries for a stream %v, got %v", tokens, d, r.Shape, y.Shape)
	}
	if x.Shape.Dims() != 2 || x.Leading() != tokens || x.Width() < n {
		return graph.Signature{}, errors.Errorf("x: want shape [%d, k] with k at least %d for a stream %v, got %v", tokens, n, r.Shape, x.Shape)
	}
	return r, nil
}

func (gatedWrite) InPlace(i int) bool { return i == 0 }

func (gatedWrite) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Gradient())
	}
	if !d.Wants(1) && !d.Wants(2) {
		return
	}
	primary := d.Make(1, gatedWriteGrad{}, d.Gradient(), d.Input(1), d.Input(2))
	d.SetSecondary(2, primary, 0, "GradX of GatedWrite")
}

func (k gatedWrite) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGatedWrite, runGatedWrite)
}

func runGatedWrite[T kernel.Float](_ gatedWrite, c graph.CallOf[T]) {
	p := gatedParams(c.Signature(0), c.Signature(2))
	graph.State[kernel.GatedWrite[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2), p)
}

// gatedWriteGrad computes dy; its secondary is dx. Inputs: the stream's gradient, y, x.
type gatedWriteGrad struct{ graph.NoGradient }

func (gatedWriteGrad) String() string { return "GradY of GatedWrite" }

func (gatedWriteGrad) FLOPs(c graph.Cost) int { // dy and dx
	return (1 + c.Secondary(0)) * 2 * c.Signature(0).Size()
}

func (k gatedWriteGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGatedWriteGrad, runGatedWriteGrad)
}

func runGatedWriteGrad[T kernel.Float](_ gatedWriteGrad, c graph.CallOf[T]) {
	dx, accumulate := c.SecondaryOut(0)
	p := gatedParams(c.Signature(0), c.Signature(2))
	graph.State[kernel.GatedWrite[T]](c).Backward(c.Pool(), c.Out(), dx, c.In(0), c.In(1), c.In(2), false, accumulate, p)
}
