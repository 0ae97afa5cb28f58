// Package norm has LayerNorm and RMSNorm, over whole tokens or groups of their entries, and a
// normalisation with a narrow product in one pass.
package norm

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// Options choose between LayerNorm and RMSNorm.
type Options struct {
	RMS  bool           // RMSNorm: no mean
	Eps  float64        // added to the variance; 0 means 1e-6
	Bias *gorgonia.Node // shape of the gain, or nil (only for Apply)
	// Groups is the number of groups, the gain's first axis, into which a token's entries are
	// divided; each is normalised separately (only for Apply). 0: all of the gain's axes are
	// normalised jointly.
	Groups int
}

// Params returns the normalisation that the options describe.
func (o Options) Params() Params {
	if o.Eps == 0 {
		o.Eps = 1e-6
	}
	return Params{RMS: o.RMS, Eps: o.Eps, groups: o.Groups}
}

// Params describes a normalisation, for Apply and readwrite.NormRead.
type Params struct {
	RMS    bool
	Eps    float64
	groups int // 0 means 1
}

// String returns the name with its parameters.
func (k Params) String() string {
	name := "LayerNorm"
	if k.RMS {
		name = "RMSNorm"
	}
	if k.groups > 0 {
		return fmt.Sprintf("%s(eps=%g, groups=%d)", name, k.Eps, k.groups)
	}
	return fmt.Sprintf("%s(eps=%g)", name, k.Eps)
}

// Stats holds the statistics that a normalisation's forward pass keeps for its backward pass. They
// belong to the op and are no node's value.
type Stats struct {
	graph.Saved // mean and rstd, [rows] each; on a device, each mean minus its row's first element
}

type norm struct {
	Params
	saved *Stats
}

// Apply normalises x over its last axes jointly, as many axes as the gain has:
//
//	LayerNorm: y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias (Ba et al. 2016)
//	RMSNorm:   y = x / sqrt(mean(x^2) + eps) * gain + bias (Zhang & Sennrich 2019)
//
// The RMT normalises over all Dk*Dv entries of its matrix (paper section 3.2), a transformer over
// D. x [..., gain's axes], variance biased. With o.Groups the gain's first axis counts groups, each
// normalised separately (Wu & He 2018, Group Normalization, arXiv 1803.08494). Defaults: LayerNorm,
// eps 1e-6, no bias, no groups.
func Apply(b *graph.Builder, x, gain *gorgonia.Node, o Options) *gorgonia.Node {
	k := norm{o.Params(), &Stats{}}
	if o.Bias != nil {
		return b.Apply(k, x, gain, o.Bias)
	}
	return b.Apply(k, x, gain)
}

func (k norm) Infer(in []graph.Signature) (graph.Signature, error) {
	x, gain := in[0].Shape, in[1].Shape
	switch {
	case k.groups > 0:
		if gain.Dims() < 2 || gain[0] != k.groups || in[1].Size() != in[0].Width() {
			return graph.Signature{}, errors.Errorf("gain: want [%d groups, ...] of %d entries for x %v, got shape %v", k.groups, in[0].Width(), x, gain)
		}
	case gain.Dims() < 1 || gain.Dims() > x.Dims() || !x[x.Dims()-gain.Dims():].Eq(gain):
		return graph.Signature{}, errors.Errorf("gain: want the last axes of x %v, got shape %v", x, gain)
	}
	if len(in) > 2 && !in[2].Shape.Eq(gain) {
		return graph.Signature{}, errors.Errorf("bias: want shape %v as the gain, got %v", gain, in[2].Shape)
	}
	return in[0], nil
}

// Again normalises again.
func (k norm) Again(b *graph.Builder, inputs gorgonia.Nodes) *gorgonia.Node {
	return b.Apply(k, inputs...)
}

func (k norm) params(x, gain graph.Signature) kernel.NormParams {
	groups := max(1, k.groups)
	return kernel.NormParams{Rows: x.Size() / gain.Size() * groups, Width: gain.Size() / groups, RMS: k.RMS, Eps: k.Eps, Groups: groups}
}

// DeviceBytes counts the statistics.
func (k norm) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return 2 * k.params(c.Signature(0), c.Signature(1)).Rows * cuda.F32.Size(), 0
}

// ByRows returns true.
func (norm) ByRows() bool { return true }

func (k norm) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNorm, runNorm)
}

func runNorm[T kernel.Float](k norm, c graph.CallOf[T]) {
	p := k.params(c.Signature(0), c.Signature(1))
	mean, rstd := graph.SavedPair[T](&k.saved.Saved, p.Rows)
	graph.State[kernel.Norm[T]](c).Forward(c.Pool(), c.RowsOut(), c.Rows(0), c.In(1), c.In(2), mean, rstd, p)
}

func (k norm) VJP(d *graph.Derivative) {
	primary := d.MakeAccumulating(normGrad{of: k}, d.Gradient(), d.Input(0), d.Input(1))
	d.SetSecondary(1, primary, 0, "GradGain of "+k.String())
	if d.Inputs() > 2 {
		d.SetSecondary(2, primary, 1, "GradBias of "+k.String())
	}
}

// normGrad computes dx; its secondaries are dgain and dbias. Inputs: dy, x, gain and optionally the
// gradient of x from its other readers, to which dx is added.
type normGrad struct {
	graph.NoGradient
	of norm
}

func (k normGrad) InPlace(i int) bool { return i == 3 }

func (k normGrad) String() string { return "GradX of " + k.of.String() }

// ByRows returns true.
func (normGrad) ByRows() bool { return true }

func (k normGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runNormGrad, runNormGrad)
}

func runNormGrad[T kernel.Float](k normGrad, c graph.CallOf[T]) {
	p := k.of.params(c.Signature(1), c.Signature(2))
	mean, rstd := graph.SavedPair[T](&k.of.saved.Saved, p.Rows)
	dgain, accumulateGain := c.SecondaryOut(0)
	dbias, accumulateBias := c.SecondaryOut(1)
	// If only one of the two accumulates into a parameter's gradient, the other is a term of a sum.
	if accumulateGain && !accumulateBias {
		clear(dbias)
	}
	if accumulateBias && !accumulateGain {
		clear(dgain)
	}
	graph.State[kernel.Norm[T]](c).Backward(c.Pool(), c.RowsOut(), c.Rows(3), dgain, dbias, c.Rows(0), c.Rows(1), c.In(2),
		mean, rstd, accumulateGain || accumulateBias, p)
}
