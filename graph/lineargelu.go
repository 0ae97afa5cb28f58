package graph

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// linearGelu is a Linear whose run also makes the GELU of its output: it leads activated.
type linearGelu struct {
	linear
	gelu
}

// LinearGelu is a linear map and a GELU in one pass over the result:
//
//	h_t = x_t W;  y_t = gelu(h_t)
//
// x [T, ...in], W [in, out]; h and y [T, out]. y is what goes on; h is there to be
// looked at.
func (b *Builder) LinearGelu(x, w *gorgonia.Node, exact bool) (h, y *gorgonia.Node) {
	k := linearGelu{linear{scale: 1}, gelu{exact}}
	h = b.Apply(k, x, w)
	if h == nil {
		return nil, nil
	}
	return h, b.Secondary(activated{gelu{exact}}, 0, h)
}

func (k linearGelu) String() string { return k.linear.String() + " then " + k.gelu.String() }

func (k linearGelu) Infer(in []Signature) (Signature, error) { return k.linear.Infer(in) }

func (k linearGelu) InPlace(int) bool { return false }

func (k linearGelu) VJP(d *Derivative) { k.linear.VJP(d) }

func (k linearGelu) Run(c *Call) error {
	return Dispatch(c, k, runLinearGelu[float32], runLinearGelu[float64])
}

func runLinearGelu[T kernel.Float](k linearGelu, c *Call) error {
	y, _ := SecondaryOut[T](c, 0)
	if y == nil { // y is not in this graph
		return runLinear[T](k.linear, c)
	}
	inputs, outputs := k.inOut(c.Signature(1))
	State[kernel.GemmGelu[T]](c).Forward(c.Pool(), y, Out[T](c), In[T](c, 0), In[T](c, 1),
		c.Signature(0).Leading(), inputs, outputs, k.transposed, k.exact)
	return nil
}

// activated is y = gelu(h), made by h's own run. Input: h.
type activated struct{ gelu }

func (k activated) String() string { return "Activated " + k.gelu.String() }

func (k activated) InPlace(int) bool { return false }

func (k activated) Run(*Call) error { return nil }

func (k activated) VJP(d *Derivative) {
	if op := opOf(d.Gradient()); op != nil {
		if _, done := op.Primitive.(linearGradGelu); done {
			d.Set(0, d.Gradient())
			return
		}
	}
	k.gelu.VJP(d)
}

// linearGradGelu is dh = (dy W^T) gelu'(h): the gradient of a Linear's input y = gelu(h)
// taken on to h in one pass. Inputs: dy, W, h.
type linearGradGelu struct {
	linear
	gelu
	h Signature
}

func (k linearGradGelu) String() string {
	return "GradX of " + k.linear.String() + " after " + k.gelu.String()
}

func (linearGradGelu) FLOPs(c Cost) int { // dy W^T
	return 2 * c.Signature(0).Size() * c.Result().Width()
}

func (k linearGradGelu) Infer([]Signature) (Signature, error) { return k.h, nil }

func (k linearGradGelu) Differentiable(int) bool { return false }

func (k linearGradGelu) InPlace(int) bool { return false }

func (k linearGradGelu) VJP(*Derivative) {}

func (k linearGradGelu) Run(c *Call) error {
	return Dispatch(c, k, runLinearGradGelu[float32], runLinearGradGelu[float64])
}

func runLinearGradGelu[T kernel.Float](k linearGradGelu, c *Call) error {
	inputs, outputs := k.inOut(c.Signature(1))
	State[kernel.GemmGelu[T]](c).Backward(c.Pool(), Out[T](c), In[T](c, 2), In[T](c, 0), In[T](c, 1),
		k.h.Leading(), inputs, outputs, k.transposed, k.exact)
	return nil
}
