package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// glu is a gated linear unit's product, added to any number of inputs.
type glu struct{ addends int }

// GLU is the product of a gated linear unit (Dauphin et al. 2017, section 2), with the gate
// before the value, and what it is added to:
//
//	y_t = sigmoid(gate_t) o value_t + addends_t,   x_t = [gate_t | value_t]
//
// x [T, 2D]; y and the addends [T, D]. The addends are added from the last to the first.
func (b *Builder) GLU(x *gorgonia.Node, addends ...*gorgonia.Node) *gorgonia.Node {
	return b.Apply(glu{len(addends)}, append(gorgonia.Nodes{x}, addends...)...)
}

func (glu) String() string { return "GLU" }

func (k glu) Infer(in []Signature) (Signature, error) {
	if err := wantFloats(in); err != nil {
		return Signature{}, err
	}
	x := in[0].Shape
	if x.Dims() != 2 || x[1]%2 != 0 {
		return Signature{}, errors.Errorf("x: want shape [tokens, 2*D], a gate and a value side by side, got %v", x)
	}
	y := Signature{in[0].DType, withTokens(x[0], x[1]/2)}
	for i, s := range in[1:] {
		if !s.Shape.Eq(y.Shape) {
			return Signature{}, errors.Errorf("addend %d: want shape %v for x %v, got %v", i, y.Shape, x, s.Shape)
		}
	}
	return y, nil
}

func (glu) Differentiable(int) bool { return true }

func (k glu) InPlace(i int) bool { return i > 0 && i == k.addends }

func (k glu) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.b.Apply(gluGrad{}, d.Gradient(), d.Input(0)))
	}
	for i := range k.addends {
		d.Set(1+i, d.Gradient())
	}
}

func (k glu) Run(c *Call) error {
	if c.Double() {
		return runGLU[float64](c)
	}
	return runGLU[float32](c)
}

// gluState is the kernel with its list of addends, kept so that a run allocates nothing.
type gluState[T kernel.Float] struct {
	kernel.GLU[T]
	addends [][]T
}

func runGLU[T kernel.Float](c *Call) error {
	s, y := State[gluState[T]](c), c.op.out
	s.addends = s.addends[:0]
	for i := range c.args[1:] {
		s.addends = append(s.addends, In[T](c, 1+i))
	}
	s.Forward(c.Pool(), Out[T](c), In[T](c, 0), s.addends, y.leading(), y.width())
	return nil
}

// gluGrad is dx = [dy o value o sigmoid'(gate) | dy o sigmoid(gate)]. Inputs: dy, x.
type gluGrad struct{ NoGradient }

func (gluGrad) String() string { return "GradX of GLU" }

func (gluGrad) Infer(in []Signature) (Signature, error) { return in[1], nil }

func (k gluGrad) Run(c *Call) error {
	if c.Double() {
		return runGLUGrad[float64](c)
	}
	return runGLUGrad[float32](c)
}

func runGLUGrad[T kernel.Float](c *Call) error {
	dy := c.op.in[0]
	State[kernel.GLU[T]](c).Backward(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 1), dy.leading(), dy.width())
	return nil
}
