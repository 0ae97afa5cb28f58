package mix

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// tanhGates computes the coefficients of dynamic hyper-connections. Inputs: z, static, scale.
type tanhGates struct{ tau float64 }

// TanhCoefficients computes the mixing coefficients of dynamic hyper-connections (Zhu et al. 2024,
// arXiv 2409.19606, section 2.3) and of virtual width networks:
//
//	c = static + scale * tanh(tau z)
//
// z [T, n, K], or [T, K] with n = 1; static [n, K], c [T, n, K]. scale is [n, K], an entry for each
// coefficient, or [2]: scale[0] for the first K-1 columns, which are for the read and the carry,
// scale[1] for the last, which is for the write. tau > 0.
func TanhCoefficients(b *graph.Builder, z, static, scale *gorgonia.Node, tau float64) *gorgonia.Node {
	if !(tau > 0) {
		b.Fail(errors.Errorf("graph: TanhCoefficients: tau: want a positive number, got %g", tau))
		return nil
	}
	return b.Apply(tanhGates{tau}, z, static, scale)
}

func (k tanhGates) String() string { return fmt.Sprintf("TanhCoefficients(tau=%g)", k.tau) }

func (k tanhGates) Infer(in []graph.Signature) (graph.Signature, error) {
	z, static, scale := in[0].Shape, in[1].Shape, in[2].Shape
	if z.Dims() != 2 && z.Dims() != 3 {
		return graph.Signature{}, errors.Errorf("z: want [tokens, n, K] or [tokens, K], got shape %v", z)
	}
	rows := rowsAndColumns(z)
	if !static.Eq(rows) {
		return graph.Signature{}, errors.Errorf("static: want shape %v for z %v, got %v", rows, z, static)
	}
	if !scale.Eq(static) && !(scale.Dims() == 1 && scale[0] == 2) {
		return graph.Signature{}, errors.Errorf("scale: want shape %v or (2) for z %v, got %v", rows, z, scale)
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(z[0], rows...)}, nil
}

// rowsAndColumns returns [n, K] for z [T, n, K], or [1, K] for z [T, K].
func rowsAndColumns(z tensor.Shape) tensor.Shape {
	if z.Dims() == 2 {
		return tensor.Shape{1, z[1]}
	}
	return z[1:].Clone()
}

func (k tanhGates) params(z, scale graph.Signature) kernel.TanhGatesParams {
	last := z.Shape[z.Shape.Dims()-1]
	return kernel.TanhGatesParams{Tokens: z.Shape[0], N: z.Width() / last, K: last, Pair: scale.Shape.Dims() == 1, Tau: k.tau}
}

func (k tanhGates) InPlace(i int) bool { return i == 0 }

func (tanhGates) KeepsFloat32() bool { return true }

func (k tanhGates) VJP(d *graph.Derivative) {
	primary := d.Make(0, tanhGatesGrad{of: k}, d.Gradient(), d.Input(0), d.Input(2))
	d.SetFloat32(1, primary, 0, "GradStatic of TanhCoefficients")
	d.SetFloat32(2, primary, 1, "GradScale of TanhCoefficients")
}

func (k tanhGates) Run(c *graph.Call) {
	graph.Dispatch(c, k, runTanhGates, runTanhGates)
}

func runTanhGates[T kernel.Float](k tanhGates, c graph.CallOf[T]) {
	graph.State[kernel.TanhGates[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), c.In(2), k.params(c.Signature(0), c.Signature(2)))
}

// tanhGatesGrad computes dz; its secondaries are dstatic and dscale. Inputs: dc, z, scale.
type tanhGatesGrad struct {
	graph.NoGradient
	of tanhGates
}

func (k tanhGatesGrad) String() string { return "GradZ of " + k.of.String() }

func (k tanhGatesGrad) InPlace(i int) bool { return i == 0 }

func (tanhGatesGrad) KeepsFloat32() bool { return true }

func (k tanhGatesGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runTanhGatesGrad, runTanhGatesGrad)
}

func runTanhGatesGrad[T kernel.Float](k tanhGatesGrad, c graph.CallOf[T]) {
	dstatic, accumulateStatic := c.SecondaryOut(0)
	dscale, accumulateScale := c.SecondaryOut(1)
	graph.State[kernel.TanhGates[T]](c).Backward(c.Pool(), c.Out(), dstatic, dscale, c.In(0), c.In(1), c.In(2),
		accumulateStatic, accumulateScale, k.of.params(c.Signature(1), c.Signature(2)))
}
