package norm

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// LinearOp is the Primitive of Linear: a normalisation and a narrow linear map in one pass over the
// rows. Inputs: x, w and optionally the gain. An op that makes x may compute it in its own pass.
type LinearOp struct {
	Params
	saved *graph.Saved
}

// LinearOp returns the Primitive that Linear applies.
func (o Options) LinearOp() (k LinearOp, err error) {
	switch {
	case o.Bias != nil:
		err = errors.New("graph: NormLinear: bias: want none, got a node: add it to the result")
	case o.Groups > 0:
		err = errors.Errorf("graph: NormLinear: groups: want 0, got %d: each row is one", o.Groups)
	}
	return LinearOp{o.Params(), &graph.Saved{}}, err
}

// Linear computes a normalisation followed by a product with few columns, the first step of the
// mixing coefficients of hyper-connections (Zhu et al. 2024, arXiv 2409.19606, section 2.3),
// without storing the normalised rows:
//
//	z = Norm(x) w
//
// w [width, K]; x [T, ...] is read as rows of width entries, one or more for each token: with x [T,
// n, D], w [D, K] normalises each of the n streams (z [T, n, K]) and w [n*D, K] all of them jointly
// (z [T, K]). gain [width], or nil for none. There is no bias. Defaults: LayerNorm, eps 1e-6.
func Linear(b *graph.Builder, x, gain, w *gorgonia.Node, o Options) *gorgonia.Node {
	k, err := o.LinearOp()
	if err != nil {
		b.Fail(err)
		return nil
	}
	if gain == nil {
		return b.Apply(k, x, w)
	}
	return b.Apply(k, x, w, gain)
}

// String returns the name with the normalisation.
func (k LinearOp) String() string { return "NormLinear " + k.Params.String() }

// FLOPs counts the product.
func (LinearOp) FLOPs(c graph.Cost) int { return 2 * c.Signature(0).Size() * c.Signature(1).Width() }

// Infer returns the signature of z.
func (k LinearOp) Infer(in []graph.Signature) (graph.Signature, error) {
	x, w := in[0], in[1]
	if err := graph.WantDims(w, 2, "w", "[width, K]"); err != nil {
		return graph.Signature{}, err
	}
	width, columns := w.Leading(), w.Width()
	if x.Shape.Dims() < 2 || x.Width()%width != 0 {
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, ...] with rows of %d entries for w %v, got %v", width, w.Shape, x.Shape)
	}
	if len(in) > 2 && (in[2].Shape.Dims() != 1 || in[2].Size() != width) {
		return graph.Signature{}, errors.Errorf("gain: want shape (%d) for w %v, got %v", width, w.Shape, in[2].Shape)
	}
	if rows := x.Width() / width; rows > 1 {
		return graph.Signature{DType: x.DType, Shape: graph.WithTokens(x.Leading(), rows, columns)}, nil
	}
	return graph.Signature{DType: x.DType, Shape: graph.WithTokens(x.Leading(), columns)}, nil
}

// Sizes returns the sizes of the kernels for x and w.
func (k LinearOp) Sizes(x, w graph.Signature) kernel.NormLinearParams {
	return kernel.NormLinearParams{Rows: x.Size() / w.Leading(), Width: w.Leading(), K: w.Width(), RMS: k.RMS, Eps: k.Eps}
}

// KeepsFloat32 returns true: coefficients are made from z.
func (k LinearOp) KeepsFloat32() bool { return true }

// VJP makes the gradients of x, w and the gain in one pass.
func (k LinearOp) VJP(d *graph.Derivative) {
	inputs := gorgonia.Nodes{d.Gradient(), d.Output(), d.Input(0), d.Input(1)}
	gain := d.Inputs() > 2
	if gain {
		inputs = append(inputs, d.Input(2))
	}
	primary := d.MakeAccumulating(normLinearGrad{of: k, gain: gain}, inputs...)
	d.SetSecondary(1, primary, 0, "GradW of NormLinear")
	if gain {
		d.SetSecondary(2, primary, 1, "GradGain of NormLinear")
	}
}

// DeviceBytes counts the statistics and the sums of the columns of gain * w.
func (k LinearOp) DeviceBytes(c graph.Cost) (saved, scratch int) {
	p := k.Sizes(c.Signature(0), c.Signature(1))
	return (3*p.Rows + p.K) * cuda.F32.Size(), 0
}

// Run computes z on the CPU.
func (k LinearOp) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNormLinear, runNormLinear)
}

func runNormLinear[T kernel.Float](k LinearOp, c graph.CallOf[T]) {
	p := k.Sizes(c.Signature(0), c.Signature(1))
	mean, rstd := LinearStatistics[T](k, p)
	graph.State[kernel.NormLinear[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(2), c.In(1), mean, rstd, p)
}

// LinearStatistics returns the memory for the rows' means and reciprocal deviations, which the
// forward pass saves for the gradient.
func LinearStatistics[T kernel.Float](k LinearOp, p kernel.NormLinearParams) (mean, rstd []T) {
	return graph.SavedPair[T](k.saved, p.Rows)
}

// normLinearGrad computes dx; its secondaries are dw and dgain. Inputs: dz, z, x, w, the gain if
// there is one, and optionally the gradient of x from its other readers, to which dx is added.
type normLinearGrad struct {
	graph.NoGradient
	of   LinearOp
	gain bool
}

// addend returns the number of the input that dx is added to, if there is one.
func (k normLinearGrad) addend() int {
	if k.gain {
		return 5
	}
	return 4
}

func (k normLinearGrad) InPlace(i int) bool { return i == k.addend() }

func (k normLinearGrad) String() string { return "GradX of " + k.of.String() }

func (normLinearGrad) FLOPs(c graph.Cost) int { // dz W^T, and dw
	return (1 + c.Secondary(0)) * 2 * c.Signature(2).Size() * c.Signature(3).Width()
}

func (k normLinearGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNormLinearGrad, runNormLinearGrad)
}

func runNormLinearGrad[T kernel.Float](k normLinearGrad, c graph.CallOf[T]) {
	p := k.of.Sizes(c.Signature(2), c.Signature(3))
	mean, rstd := LinearStatistics[T](k.of, p)
	g := kernel.NormLinearGrads[T]{X: c.Out(), AddendX: c.In(k.addend())}
	g.W, g.AddToW = c.SecondaryOut(0)
	g.Gain, g.AddToGain = c.SecondaryOut(1)
	var gain []T
	if k.gain {
		gain = c.In(4)
	}
	graph.State[kernel.NormLinear[T]](c).Backward(c.Pool(), g, c.In(0), c.In(1), c.In(2), gain, c.In(3), mean, rstd, p)
}
