package linear

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
)

// MapSwiGLU computes a gated linear unit whose gate is SiLU (Shazeer 2020, arXiv 2002.05202,
// section 2); the second map also computes the product:
//
//	gate_t = x_t W1;  value_t = x_t W3;  y_t = silu(gate_t) ⊙ value_t
//
// x [T, ...in], W1 and W3 [in, out]; gate, value and y [T, out]. Use y; the others are for code
// that looks at them.
func MapSwiGLU(b *graph.Builder, x, w1, w3 *gorgonia.Node) (gate, value, y *gorgonia.Node) {
	gate = b.Apply(gateProduct{Product{Scale: 1}}, x, w1)
	value = b.Apply(valueProduct{Product{Scale: 1}}, x, w3, gate)
	if value == nil {
		return nil, nil, nil
	}
	return gate, value, b.Secondary(gatedValue{}, 0, value, gate)
}

// gateProduct is a Product whose gradient of x is added, by the product itself, to the gradient
// that the value's product has made.
type gateProduct struct{ Product }

func (k gateProduct) String() string { return "Gate by " + k.Product.String() }

func (k gateProduct) VJP(d *graph.Derivative) {
	if d.Wants(1) {
		d.Make(1, linearGradW{of: k.Product}, d.Input(0), d.Gradient())
	}
	if d.Wants(0) {
		d.MakeAccumulating(linearGradX{of: k.Product}, d.Gradient(), d.Input(1))
	}
}

// valueProduct is a Product whose run also computes gatedValue from its result. Inputs: x, W3,
// gate.
type valueProduct struct{ Product }

func (k valueProduct) String() string { return k.Product.String() + " then SwiGLU" }

// Differentiable returns false for the gate, on which the value does not depend.
func (valueProduct) Differentiable(i int) bool { return i < 2 }

func (k valueProduct) Infer(in []graph.Signature) (graph.Signature, error) {
	return k.Product.Infer(in[:2])
}

func (k valueProduct) Run(c *graph.Call) {
	graph.Dispatch(c, k, runValueProduct, runValueProduct)
}

func runValueProduct[T kernel.Float](k valueProduct, c graph.CallOf[T]) {
	if !c.HasSecondary(0) { // y is not in this graph
		runLinear(k.Product, c)
		return
	}
	inputs, outputs := k.Sides(c.Signature(1))
	if x := c.Half(0); x != nil {
		graph.State[gemms[T]](c).fused.SwiGLU(c.Pool(), c.RoundedSecondaryOut(0), c.RoundedOut(), c.Half(2), x,
			c.Packed(1, false, outputs, inputs), c.Signature(0).Leading())
		return
	}
	y, _ := c.SecondaryOut(0)
	gemm, value := graph.State[kernel.GemmElementwise[T]](c), c.Out()
	gemm.SetWeights(c.Weights(1))
	gemm.Run(c.Pool(), false, c.Signature(0).Leading(), outputs, inputs, c.In(0), c.In(1), value,
		kernel.InstanceOf[T](kernel.SwiGLU[float32], kernel.SwiGLU[float64]),
		[][]T{y}, [][]T{c.In(2), value})
}

// gatedValue is y = silu(gate) ⊙ value, computed by the run of value. Inputs: value, gate.
type gatedValue struct{ graph.MadeByPrimary }

func (gatedValue) String() string { return "Gated value" }

func (gatedValue) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

// Again computes the product of gate and value in a separate pass.
func (gatedValue) Again(b *graph.Builder, inputs gorgonia.Nodes) *gorgonia.Node {
	return elementwise.SwiGLU(b, inputs[1], inputs[0])
}

func (gatedValue) VJP(d *graph.Derivative) {
	if _, done := graph.PrimitiveOf(d.Gradient()).(linearGradSwiGLU); done {
		d.Set(0, d.Gradient())
		d.Set(1, d.Builder().Secondary(gateGrad{}, 0, d.Gradient()))
		return
	}
	grads := d.Builder().Formula(kernel.SwiGLUGradientFormula(), gorgonia.Nodes{d.Gradient(), d.Input(1), d.Input(0)})
	d.Set(1, grads[0])
	d.Set(0, grads[1])
}

// gateGrad is dgate, computed by the run of linearGradSwiGLU, which is its input.
type gateGrad struct {
	graph.MadeByPrimary
	graph.NoGradient
}

func (gateGrad) String() string { return "GradGate of SwiGLU" }

// linearGradSwiGLU computes dvalue = (dy W^T) ⊙ silu(gate) in one pass: the gradient of the input y
// = silu(gate) ⊙ value of a linear map, carried on to value. Its secondary is dgate = (dy W^T) ⊙
// value ⊙ silu'(gate). Inputs: dy, W, value, gate.
type linearGradSwiGLU struct {
	graph.NoGradient
	of Product
}

func (k linearGradSwiGLU) String() string { return "GradX of " + k.of.String() + " after SwiGLU" }

func (linearGradSwiGLU) FLOPs(c graph.Cost) int { // dy W^T
	return 2 * c.Signature(0).Size() * c.Result().Width()
}

func (k linearGradSwiGLU) Run(c *graph.Call) {
	graph.Dispatch(c, k, runLinearGradSwiGLU, runLinearGradSwiGLU)
}

func runLinearGradSwiGLU[T kernel.Float](k linearGradSwiGLU, c graph.CallOf[T]) {
	inputs, outputs := k.of.Sides(c.Signature(1))
	if dy := c.Half(0); dy != nil {
		graph.State[gemms[T]](c).fused.SwiGLUBackward(c.Pool(), c.RoundedSecondaryOut(0), c.RoundedOut(), c.Half(3), c.Half(2), dy,
			c.Packed(1, !k.of.Transposed, inputs, outputs), c.Result().Leading())
		return
	}
	dgate, _ := c.SecondaryOut(0)
	dvalue := c.Out()
	graph.State[kernel.GemmElementwise[T]](c).Run(c.Pool(), !k.of.Transposed, c.Result().Leading(), inputs, outputs, c.In(0), c.In(1), dvalue,
		kernel.InstanceOf[T](kernel.SwiGLUGradient[float32], kernel.SwiGLUGradient[float64]),
		[][]T{dgate, dvalue}, [][]T{dvalue, c.In(3), c.In(2)})
}
