package elementwise

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// glu computes a gated linear unit's product and adds any number of inputs to it.
type glu struct{ addends int }

// GLU computes the product of a gated linear unit (Dauphin et al. 2017, section 2), whose gate
// comes before the value, and adds the addends:
//
//	y_t = sigmoid(gate_t) o value_t + addends_t,   x_t = [gate_t | value_t]
//
// x [T, 2D]; y and the addends [T, D]. The addends are added in order from the last to the first.
func GLU(b *graph.Builder, x *gorgonia.Node, addends ...*gorgonia.Node) *gorgonia.Node {
	return b.Apply(glu{len(addends)}, append(gorgonia.Nodes{x}, addends...)...)
}

func (glu) String() string { return "GLU" }

func (k glu) Infer(in []graph.Signature) (graph.Signature, error) {
	x := in[0].Shape
	if x.Dims() != 2 || x[1]%2 != 0 {
		return graph.Signature{}, errors.Errorf("x: want shape [tokens, 2*D], a gate and a value side by side, got %v", x)
	}
	y := graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(x[0], x[1]/2)}
	for i, s := range in[1:] {
		if !s.Shape.Eq(y.Shape) {
			return graph.Signature{}, errors.Errorf("addend %d: want shape %v for x %v, got %v", i, y.Shape, x, s.Shape)
		}
	}
	return y, nil
}

func (k glu) InPlace(i int) bool { return i > 0 && i == k.addends }

func (k glu) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Make(0, gluGrad{}, d.Gradient(), d.Input(0))
	}
	for i := range k.addends {
		d.Set(1+i, d.Gradient())
	}
}

func (k glu) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGLU, runGLU)
}

func runGLU[T kernel.Float](_ glu, c graph.CallOf[T]) {
	s, y := graph.State[graph.Listed[kernel.GLU[T], T]](c), c.Result()
	s.Kernel.Forward(c.Pool(), c.Out(), c.In(0), s.Inputs(c, 1), y.Leading(), y.Width())
}

// gluGrad computes dx = [dy o value o sigmoid'(gate) | dy o sigmoid(gate)]. Inputs: dy, x.
type gluGrad struct{ graph.NoGradient }

func (gluGrad) String() string { return "GradX of GLU" }

func (k gluGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runGLUGrad, runGLUGrad)
}

func runGLUGrad[T kernel.Float](_ gluGrad, c graph.CallOf[T]) {
	dy := c.Signature(0)
	graph.State[kernel.GLU[T]](c).Backward(c.Pool(), c.Out(), c.In(0), c.In(1), dy.Leading(), dy.Width())
}
