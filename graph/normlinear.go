package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// normLinear is Norm and a narrow Linear in one pass over the rows. Inputs: x, w and,
// where there is one, the gain.
type normLinear struct {
	normKind
	saved *normLinearStats
}

// normLinearStats are what the forward pass leaves for the backward pass.
type normLinearStats struct {
	stats
	device DeviceMemory // mean [2, rows], rstd [rows] and the sums of the columns of gain * w [K]
}

// NormLinear is a normalisation followed by a product with few columns, as the mixing
// coefficients of hyper-connections begin (Zhu et al. 2024, arXiv 2409.19606, section
// 2.3), without the normalised rows in memory:
//
//	z = Norm(x) w
//
// w [width, K]; x [T, ...] is read as rows of width entries, r of them a token: with x
// [T, n, D], w [D, K] normalises each of the n streams (z [T, n, K]) and w [n*D, K] all of
// them jointly (z [T, K]). gain [width], or nil for none. There is no bias. Defaults:
// LayerNorm, eps 1e-6.
func (b *Builder) NormLinear(x, gain, w *gorgonia.Node, o NormOptions) *gorgonia.Node {
	if o.Bias != nil {
		b.Fail(errors.New("graph: NormLinear: bias: want none, got a node: add it to the result"))
		return nil
	}
	if o.Groups > 0 {
		b.Fail(errors.Errorf("graph: NormLinear: groups: want 0, got %d: each row is one", o.Groups))
		return nil
	}
	k := normLinear{o.kind(), &normLinearStats{}}
	if gain == nil {
		return b.Apply(k, x, w)
	}
	return b.Apply(k, x, w, gain)
}

func (k normLinear) String() string { return "NormLinear " + k.normKind.String() }

func (normLinear) FLOPs(c Cost) int { return 2 * c.Signature(0).Size() * c.Signature(1).Width() }

func (k normLinear) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	x, w := in[0], in[1]
	if err := WantDims(w, 2, "w", "[width, K]"); err != nil {
		return Signature{}, err
	}
	width, columns := w.Leading(), w.Width()
	if x.Shape.Dims() < 2 || x.Width()%width != 0 {
		return Signature{}, errors.Errorf("x: want shape [tokens, ...] with rows of %d entries for w %v, got %v", width, w.Shape, x.Shape)
	}
	if len(in) > 2 && (in[2].Shape.Dims() != 1 || in[2].Size() != width) {
		return Signature{}, errors.Errorf("gain: want shape (%d) for w %v, got %v", width, w.Shape, in[2].Shape)
	}
	if rows := x.Width() / width; rows > 1 {
		return Signature{x.DType, WithTokens(x.Leading(), rows, columns)}, nil
	}
	return Signature{x.DType, WithTokens(x.Leading(), columns)}, nil
}

func (k normLinear) params(x, w Signature) kernel.NormLinearParams {
	return kernel.NormLinearParams{Rows: x.Size() / w.Leading(), Width: w.Leading(), K: w.Width(), RMS: k.rms, Eps: k.eps}
}

func (k normLinear) FullPrecision() bool { return true } // coefficients

func (k normLinear) VJP(d *Derivative) {
	inputs := gorgonia.Nodes{d.Gradient(), d.Output(), d.Input(0), d.Input(1)}
	gain := d.Inputs() > 2
	if gain {
		inputs = append(inputs, d.Input(2))
	}
	primary := d.ApplyAbsorbing(normLinearGrad{of: k, gain: gain}, inputs...)
	d.Set(0, primary)
	if d.Wants(1) {
		d.SetSecondary(1, primary, 0, "GradW of NormLinear")
	}
	if gain && d.Wants(2) {
		d.SetSecondary(2, primary, 1, "GradGain of NormLinear")
	}
}

func (k normLinear) Run(c *Call) error {
	return Dispatch(c, k, runNormLinear[float32], runNormLinear[float64])
}

func runNormLinear[T kernel.Float](k normLinear, c *Call) error {
	p := k.params(c.Signature(0), c.Signature(1))
	mean, rstd := savedRows[T](&k.saved.stats, p.Rows)
	State[kernel.NormLinear[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 2), In[T](c, 1), mean, rstd, p)
	return nil
}

// normLinearGrad is dx; its secondaries are dw and dgain. Inputs: dz, z, x, w, the gain
// where there is one and, where dx is to be added to it, the gradient that x has from
// elsewhere.
type normLinearGrad struct {
	NoGradient
	of   normLinear
	gain bool
}

// addend is the input that dx is added to, if it is there.
func (k normLinearGrad) addend() int {
	if k.gain {
		return 5
	}
	return 4
}

func (k normLinearGrad) InPlace(i int) bool { return i == k.addend() }

func (k normLinearGrad) String() string { return "GradX of " + k.of.String() }

func (normLinearGrad) FLOPs(c Cost) int { // dz W^T, and dw
	return (1 + c.Secondary(0)) * 2 * c.Signature(2).Size() * c.Signature(3).Width()
}

func (k normLinearGrad) Infer(in []Signature) (Signature, error) { return in[2], nil }

func (k normLinearGrad) Run(c *Call) error {
	return Dispatch(c, k, runNormLinearGrad[float32], runNormLinearGrad[float64])
}

func runNormLinearGrad[T kernel.Float](k normLinearGrad, c *Call) error {
	p := k.of.params(c.Signature(2), c.Signature(3))
	mean, rstd := savedRows[T](&k.of.saved.stats, p.Rows)
	dw, accumulateW := SecondaryOut[T](c, 0)
	dgain, accumulateGain := SecondaryOut[T](c, 1)
	var gain []T
	if k.gain {
		gain = In[T](c, 4)
	}
	run := State[kernel.NormLinear[T]](c)
	run.Addend = In[T](c, k.addend())
	run.Backward(c.Pool(), Out[T](c), dgain, dw, In[T](c, 0), In[T](c, 1), In[T](c, 2), gain, In[T](c, 3),
		mean, rstd, accumulateGain, accumulateW, p)
	return nil
}
