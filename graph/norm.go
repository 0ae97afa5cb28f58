package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// NormOptions choose between LayerNorm and RMSNorm.
type NormOptions struct {
	RMS  bool           // RMSNorm: no mean
	Eps  float64        // added to the variance; 0 means 1e-6
	Bias *gorgonia.Node // shape of the gain, or nil (Norm only)
	// Groups is the number of groups of a token's entries that are normalised each for
	// itself, the gain's first axis (Norm only); 0: all of the gain's axes jointly.
	Groups int
}

func (o NormOptions) kind() normKind {
	if o.Eps == 0 {
		o.Eps = 1e-6
	}
	return normKind{rms: o.RMS, eps: o.Eps, groups: o.Groups}
}

// normKind is what Norm and NormRead share.
type normKind struct {
	rms    bool
	eps    float64
	groups int // 0: one
}

func (k normKind) String() string {
	name := "LayerNorm"
	if k.rms {
		name = "RMSNorm"
	}
	if k.groups > 0 {
		return fmt.Sprintf("%s(eps=%g, groups=%d)", name, k.eps, k.groups)
	}
	return fmt.Sprintf("%s(eps=%g)", name, k.eps)
}

// stats are the statistics that a normalisation's forward pass leaves for its backward
// pass. They are the op's own, no node's value.
type stats struct {
	mean, rstd any
	device     DeviceMemory // mean [rows] less the rows' first elements, rstd [rows]
}

// rows returns the saved statistics as slices of n elements.
func savedRows[T kernel.Float](s *stats, n int) (mean, rstd []T) {
	mean, _ = s.mean.([]T)
	rstd, _ = s.rstd.([]T)
	if len(mean) != n {
		mean, rstd = make([]T, n), make([]T, n)
		s.mean, s.rstd = mean, rstd
	}
	return mean, rstd
}

// norm normalises over the gain's axes jointly.
type norm struct {
	normKind
	saved *stats
}

// Norm normalises jointly over the last axes of x, as many as the gain has:
//
//	LayerNorm: y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias
//	RMSNorm:   y = x / sqrt(mean(x^2) + eps) * gain + bias
//
// The RMT normalises over all Dk*Dv entries of its matrix (paper section 3.2), a
// transformer over D. x [..., gain's axes], variance biased. With o.Groups the gain's
// first axis counts groups, each normalised for itself (Wu & He 2018, Group Normalization,
// arXiv 1803.08494). Defaults: LayerNorm, eps 1e-6, no bias, no groups.
func (b *Builder) Norm(x, gain *gorgonia.Node, o NormOptions) *gorgonia.Node {
	k := norm{o.kind(), &stats{}}
	if o.Bias != nil {
		return b.Apply(k, x, gain, o.Bias)
	}
	return b.Apply(k, x, gain)
}

// LayerNorm is Norm with its defaults.
func (b *Builder) LayerNorm(x, gain *gorgonia.Node) *gorgonia.Node {
	return b.Norm(x, gain, NormOptions{})
}

// RMSNorm is Norm without the mean.
func (b *Builder) RMSNorm(x, gain *gorgonia.Node) *gorgonia.Node {
	return b.Norm(x, gain, NormOptions{RMS: true})
}

func (k norm) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	x, gain := in[0].Shape, in[1].Shape
	switch {
	case k.groups > 0:
		if gain.Dims() < 2 || gain[0] != k.groups || in[1].Size() != in[0].Width() {
			return Signature{}, errors.Errorf("gain: want [%d groups, ...] of %d entries for x %v, got shape %v", k.groups, in[0].Width(), x, gain)
		}
	case gain.Dims() < 1 || gain.Dims() > x.Dims() || !x[x.Dims()-gain.Dims():].Eq(gain):
		return Signature{}, errors.Errorf("gain: want the last axes of x %v, got shape %v", x, gain)
	}
	if len(in) > 2 && !in[2].Shape.Eq(gain) {
		return Signature{}, errors.Errorf("bias: want shape %v as the gain, got %v", gain, in[2].Shape)
	}
	return in[0], nil
}

func (k norm) params(x, gain Signature) kernel.NormParams {
	groups := max(1, k.groups)
	return kernel.NormParams{Rows: x.Size() / gain.Size() * groups, Width: gain.Size() / groups, RMS: k.rms, Eps: k.eps, Groups: groups}
}

func (k norm) Run(c *Call) error {
	return Dispatch(c, k, runNorm[float32], runNorm[float64])
}

func runNorm[T kernel.Float](k norm, c *Call) error {
	p := k.params(c.Signature(0), c.Signature(1))
	mean, rstd := savedRows[T](k.saved, p.Rows)
	State[kernel.Norm[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 1), In[T](c, 2), mean, rstd, p)
	return nil
}

func (k norm) VJP(d *Derivative) {
	x, gain := d.Input(0), d.Input(1)
	bias := d.Inputs() > 2 && d.Wants(2)
	primary := d.ApplyAbsorbing(normGrad{of: k}, d.Gradient(), x, gain)
	d.Set(0, primary)
	if d.Wants(1) {
		d.SetSecondary(1, primary, 0, "GradGain of "+k.String())
	}
	if bias {
		d.SetSecondary(2, primary, 1, "GradBias of "+k.String())
	}
}

// normGrad is dx; its secondaries are dgain and dbias. Inputs: dy, x, gain and, where dx
// is to be added to it, the gradient that x has from elsewhere.
type normGrad struct {
	NoGradient
	of norm
}

func (k normGrad) InPlace(i int) bool { return i == 3 }

func (k normGrad) String() string { return "GradX of " + k.of.String() }

func (k normGrad) Infer(in []Signature) (Signature, error) { return in[1], nil }

func (k normGrad) Run(c *Call) error {
	return Dispatch(c, k, runNormGrad[float32], runNormGrad[float64])
}

func runNormGrad[T kernel.Float](k normGrad, c *Call) error {
	p := k.of.params(c.Signature(1), c.Signature(2))
	mean, rstd := savedRows[T](k.of.saved, p.Rows)
	dgain, accumulateGain := SecondaryOut[T](c, 0)
	dbias, accumulateBias := SecondaryOut[T](c, 1)
	// Where only one of them is a parameter's gradient, the other is a term of one.
	if accumulateGain && !accumulateBias {
		clear(dbias)
	}
	if accumulateBias && !accumulateGain {
		clear(dgain)
	}
	run := State[kernel.Norm[T]](c)
	run.Addend = In[T](c, 3)
	run.Backward(c.Pool(), Out[T](c), dgain, dbias, In[T](c, 0), In[T](c, 1), In[T](c, 2),
		mean, rstd, accumulateGain || accumulateBias, p)
	return nil
}
