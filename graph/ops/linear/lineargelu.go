package linear

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
)

// linearGelu is a Linear whose run also makes the GELU of its output: it leads activated.
type linearGelu struct {
	Product
	elementwise.GELU
}

// MapGelu is a linear map and a GELU in one pass over the result:
//
//	h_t = x_t W;  y_t = gelu(h_t)
//
// x [T, ...in], W [in, out]; h and y [T, out]. y is what goes on; h is there to be
// looked at.
func MapGelu(b *graph.Builder, x, w *gorgonia.Node, exact bool) (h, y *gorgonia.Node) {
	k := linearGelu{Product{Scale: 1}, elementwise.GELU{Exact: exact}}
	h = b.Apply(k, x, w)
	if h == nil {
		return nil, nil
	}
	return h, b.Secondary(activated{elementwise.GELU{Exact: exact}}, 0, h)
}

func (k linearGelu) String() string { return k.Product.String() + " then " + k.GELU.String() }

func (k linearGelu) Infer(in []graph.Signature) (graph.Signature, error) { return k.Product.Infer(in) }

func (k linearGelu) InPlace(int) bool { return false }

func (k linearGelu) VJP(d *graph.Derivative) { k.Product.VJP(d) }

func (k linearGelu) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runLinearGelu[float32], runLinearGelu[float64])
}

func runLinearGelu[T kernel.Float](k linearGelu, c *graph.Call) error {
	y, _ := graph.SecondaryOut[T](c, 0)
	if y == nil { // y is not in this graph
		return runLinear[T](k.Product, c)
	}
	inputs, outputs := k.Sides(c.Signature(1))
	graph.State[kernel.GemmGelu[T]](c).Forward(c.Pool(), y, graph.Out[T](c), graph.In[T](c, 0), graph.In[T](c, 1),
		c.Signature(0).Leading(), inputs, outputs, k.Transposed, k.Exact)
	return nil
}

// activated is y = gelu(h), made by h's own run. Input: h.
type activated struct{ elementwise.GELU }

func (k activated) String() string { return "Activated " + k.GELU.String() }

func (k activated) InPlace(int) bool { return false }

func (k activated) Run(*graph.Call) error { return nil }

func (k activated) VJP(d *graph.Derivative) {
	if _, done := graph.PrimitiveOf(d.Gradient()).(linearGradGelu); done {
		d.Set(0, d.Gradient())
		return
	}
	k.GELU.VJP(d)
}

// linearGradGelu is dh = (dy W^T) gelu'(h): the gradient of a Linear's input y = gelu(h)
// taken on to h in one pass. Inputs: dy, W, h.
type linearGradGelu struct {
	graph.NoGradient
	of   Product
	gelu elementwise.GELU
	h    graph.Signature
}

func (k linearGradGelu) String() string {
	return "GradX of " + k.of.String() + " after " + k.gelu.String()
}

func (linearGradGelu) FLOPs(c graph.Cost) int { // dy W^T
	return 2 * c.Signature(0).Size() * c.Result().Width()
}

func (k linearGradGelu) Infer([]graph.Signature) (graph.Signature, error) { return k.h, nil }

func (k linearGradGelu) Run(c *graph.Call) error {
	return graph.Dispatch(c, k, runLinearGradGelu[float32], runLinearGradGelu[float64])
}

func runLinearGradGelu[T kernel.Float](k linearGradGelu, c *graph.Call) error {
	inputs, outputs := k.of.Sides(c.Signature(1))
	graph.State[kernel.GemmGelu[T]](c).Backward(c.Pool(), graph.Out[T](c), graph.In[T](c, 2), graph.In[T](c, 0), graph.In[T](c, 1),
		k.h.Leading(), inputs, outputs, k.of.Transposed, k.gelu.Exact)
	return nil
}
