package loss

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// squaredError computes the mean squared distance of tokens.
type squaredError struct{}

// SquaredError computes the mean over tokens of the squared distance of y from want, a scalar:
//
//	loss = 1/T sum_t |y_t - want_t|^2
//
// y and want [T, ...] have the same shape. want is given, as targets are: it gets no gradient. It
// runs on the CPU alone.
func SquaredError(b *graph.Builder, y, want *gorgonia.Node) *gorgonia.Node {
	return b.Apply(squaredError{}, y, want)
}

func (squaredError) String() string { return "SquaredError" }

func (squaredError) Differentiable(i int) bool { return i == 0 }

func (squaredError) Infer(in []graph.Signature) (graph.Signature, error) {
	if in[0].Shape.Dims() < 1 || !in[1].Shape.Eq(in[0].Shape) {
		return graph.Signature{}, errors.Errorf("want: want the shape of y, %v, with an axis of tokens, got %v", in[0].Shape, in[1].Shape)
	}
	return graph.Signature{DType: in[0].DType, Shape: tensor.ScalarShape()}, nil
}

func (squaredError) VJP(d *graph.Derivative) {
	d.Make(0, squaredErrorGrad{}, d.Input(0), d.Input(1), d.Gradient())
}

func (k squaredError) Run(c *graph.Call) { graph.Dispatch(c, k, runSquaredError, runSquaredError) }

func runSquaredError[T kernel.Float](_ squaredError, c graph.CallOf[T]) {
	y, want := c.In(0), c.In(1)
	sum := 0.0
	for i, v := range y {
		e := float64(v) - float64(want[i])
		sum += e * e
	}
	c.Out()[0] = T(sum / float64(c.Signature(0).Leading()))
}

// squaredErrorGrad computes dy = 2 (y - want) dloss / T. Inputs: y, want, dloss.
type squaredErrorGrad struct{ graph.NoGradient }

func (squaredErrorGrad) String() string { return "GradY of SquaredError" }

func (squaredErrorGrad) InPlace(i int) bool { return i == 0 }

func (k squaredErrorGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runSquaredErrorGrad, runSquaredErrorGrad)
}

func runSquaredErrorGrad[T kernel.Float](_ squaredErrorGrad, c graph.CallOf[T]) {
	y, want, out := c.In(0), c.In(1), c.Out()
	factor := 2 * c.In(2)[0] / T(c.Signature(0).Leading())
	for i, v := range y {
		out[i] = factor * (v - want[i])
	}
}
