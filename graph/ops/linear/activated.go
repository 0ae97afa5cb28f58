package linear

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
)

// linearActivated is a linear map whose run also computes the activation of its output; it is the
// primary of activated.
type linearActivated struct {
	Product
	activation elementwise.Activation
}

// MapActivated computes a linear map and an activation in one pass over the result:
//
//	h_t = x_t W;  y_t = f(h_t)
//
// x [T, ...in], W [in, out]; h and y [T, out]. Use y; h is for code that looks at it.
func MapActivated(b *graph.Builder, x, w *gorgonia.Node, f kernel.Activation) (h, y *gorgonia.Node) {
	k := linearActivated{Product{Scale: 1}, elementwise.Activation{Function: f}}
	h = b.Apply(k, x, w)
	if h == nil {
		return nil, nil
	}
	return h, b.Secondary(activated{elementwise.Activation{Function: f}}, 0, h)
}

func (k linearActivated) String() string {
	return k.Product.String() + " then " + k.activation.String()
}

func (k linearActivated) Infer(in []graph.Signature) (graph.Signature, error) {
	return k.Product.Infer(in)
}

func (k linearActivated) InPlace(int) bool { return false }

func (k linearActivated) VJP(d *graph.Derivative) { k.Product.VJP(d) }

func (k linearActivated) Run(c *graph.Call) {
	graph.Dispatch(c, k, runLinearActivated, runLinearActivated)
}

func runLinearActivated[T kernel.Float](k linearActivated, c graph.CallOf[T]) {
	if !c.HasSecondary(0) { // y is not in this graph
		runLinear(k.Product, c)
		return
	}
	inputs, outputs := k.Sides(c.Signature(1))
	if x := c.Half(0); x != nil {
		graph.State[gemms[T]](c).fused.Activated(c.Pool(), c.RoundedOut(), c.RoundedSecondaryOut(0), x,
			c.Packed(1, k.Transposed, outputs, inputs), c.Signature(0).Leading(), k.activation.Function)
		return
	}
	y, _ := c.SecondaryOut(0)
	gemm, h := graph.State[kernel.GemmElementwise[T]](c), c.Out()
	gemm.SetWeights(c.Weights(1))
	gemm.Run(c.Pool(), k.Transposed, c.Signature(0).Leading(), outputs, inputs, c.In(0), c.In(1), h,
		kernel.InstanceOf[T](kernel.Activate[float32], kernel.Activate[float64]),
		[][]T{y}, [][]T{h}, float64(k.activation.Function))
}

// DeviceBytes counts the workspace of cuBLASLt.
func (k linearActivated) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return 0, epilogueBytes(c, k.activation.Function)
}

// activated is y = f(h), computed by the run of h. Input: h.
type activated struct{ elementwise.Activation }

func (k activated) String() string { return "Activated " + k.Activation.String() }

func (k activated) InPlace(int) bool { return false }

func (k activated) Run(*graph.Call) {}

func (k activated) VJP(d *graph.Derivative) {
	if _, done := graph.PrimitiveOf(d.Gradient()).(linearGradActivated); done {
		d.Set(0, d.Gradient())
		return
	}
	k.Activation.VJP(d)
}

// linearGradActivated computes dh = (dy W^T) f'(h) in one pass: the gradient of the input y = f(h)
// of a linear map, carried on to h. Inputs: dy, W, h.
type linearGradActivated struct {
	graph.NoGradient
	of         Product
	activation elementwise.Activation
}

func (k linearGradActivated) String() string {
	return "GradX of " + k.of.String() + " after " + k.activation.String()
}

// DeviceBytes counts the workspace of cuBLASLt.
func (k linearGradActivated) DeviceBytes(c graph.Cost) (saved, scratch int) {
	return 0, epilogueBytes(c, k.activation.Function)
}

func (linearGradActivated) FLOPs(c graph.Cost) int { // dy W^T
	return 2 * c.Signature(0).Size() * c.Result().Width()
}

func (k linearGradActivated) Run(c *graph.Call) {
	graph.Dispatch(c, k, runLinearGradActivated, runLinearGradActivated)
}

func runLinearGradActivated[T kernel.Float](k linearGradActivated, c graph.CallOf[T]) {
	inputs, outputs := k.of.Sides(c.Signature(1))
	if dy := c.Half(0); dy != nil {
		graph.State[gemms[T]](c).fused.ActivatedBackward(c.Pool(), c.RoundedOut(), c.Half(2), dy,
			c.Packed(1, !k.of.Transposed, inputs, outputs), c.Result().Leading(), k.activation.Function)
		return
	}
	dh := c.Out()
	graph.State[kernel.GemmElementwise[T]](c).Run(c.Pool(), !k.of.Transposed, c.Result().Leading(), inputs, outputs, c.In(0), c.In(1), dh,
		kernel.InstanceOf[T](kernel.ActivateGradient[float32], kernel.ActivateGradient[float64]),
		[][]T{dh}, [][]T{dh, c.In(2)}, float64(k.activation.Function))
}

// epilogueBytes returns the scratch memory that a product with this activation takes on a device.
func epilogueBytes(c graph.Cost, f kernel.Activation) int {
	if c.Activation() == cuda.BF16 && f == kernel.GeluTanh {
		return cuda.MatmulWorkspace
	}
	return 0
}
