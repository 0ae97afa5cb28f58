package norm

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// normLinear computes a normalisation and a narrow linear map in one pass over the rows. Inputs: x,
// w and optionally the gain.
type normLinear struct {
	Params
	saved *graph.Saved
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
	if o.Bias != nil {
		b.Fail(errors.New("graph: NormLinear: bias: want none, got a node: add it to the result"))
		return nil
	}
	if o.Groups > 0 {
		b.Fail(errors.Errorf("graph: NormLinear: groups: want 0, got %d: each row is one", o.Groups))
		return nil
	}
	k := normLinear{o.Params(), &graph.Saved{}}
	if gain == nil {
		return b.Apply(k, x, w)
	}
	return b.Apply(k, x, w, gain)
}

func (k normLinear) String() string { return "NormLinear " + k.Params.String() }

func (normLinear) FLOPs(c graph.Cost) int { return 2 * c.Signature(0).Size() * c.Signature(1).Width() }

func (k normLinear) Infer(in []graph.Signature) (graph.Signature, error) {
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

func (k normLinear) params(x, w graph.Signature) kernel.NormLinearParams {
	return kernel.NormLinearParams{Rows: x.Size() / w.Leading(), Width: w.Leading(), K: w.Width(), RMS: k.RMS, Eps: k.Eps}
}

func (k normLinear) KeepsFloat32() bool { return true } // its output is coefficients

func (k normLinear) VJP(d *graph.Derivative) {
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
func (k normLinear) DeviceBytes(c graph.Cost) (saved, scratch int) {
	p := k.params(c.Signature(0), c.Signature(1))
	return (3*p.Rows + p.K) * cuda.F32.Size(), 0
}

func (k normLinear) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNormLinear, runNormLinear)
}

func runNormLinear[T kernel.Float](k normLinear, c graph.CallOf[T]) {
	p := k.params(c.Signature(0), c.Signature(1))
	mean, rstd := graph.SavedPair[T](k.saved, p.Rows)
	graph.State[kernel.NormLinear[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(2), c.In(1), mean, rstd, p)
}

// normLinearGrad computes dx; its secondaries are dw and dgain. Inputs: dz, z, x, w, the gain if
// there is one, and optionally the gradient of x from its other readers, to which dx is added.
type normLinearGrad struct {
	graph.NoGradient
	of   normLinear
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
	p := k.of.params(c.Signature(2), c.Signature(3))
	mean, rstd := graph.SavedPair[T](k.of.saved, p.Rows)
	dw, accumulateW := c.SecondaryOut(0)
	dgain, accumulateGain := c.SecondaryOut(1)
	var gain []T
	if k.gain {
		gain = c.In(4)
	}
	graph.State[kernel.NormLinear[T]](c).Backward(c.Pool(), c.Out(), c.In(k.addend()), dgain, dw, c.In(0), c.In(1), c.In(2), gain, c.In(3),
		mean, rstd, accumulateGain, accumulateW, p)
}
