package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// reshape gives a token's features other axes.
type reshape struct{ features tensor.Shape }

// Reshape gives each token's features the given axes:
//
//	x [T, ...] -> [T, axes...]
//
// It costs nothing where nothing else reads x later, else a copy.
func (b *Builder) Reshape(x *gorgonia.Node, axes ...int) *gorgonia.Node {
	return b.Apply(reshape{tensor.Shape(axes).Clone()}, x)
}

func (k reshape) String() string { return fmt.Sprintf("Reshape %v", k.features) }

func (k reshape) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	if in[0].Shape.Dims() < 2 || product(k.features) != in[0].Width() {
		return Signature{}, errors.Errorf("x: want [tokens, ...] of %d entries each for the axes %v, got shape %v", product(k.features), k.features, in[0].Shape)
	}
	return Signature{in[0].DType, WithTokens(in[0].Leading(), k.features...)}, nil
}

func (reshape) InPlace(int) bool { return true }

func (reshape) Passes() bool { return true }

func (reshape) VJP(d *Derivative) {
	d.Set(0, d.Apply(reshape{d.Signature(0).Shape[1:].Clone()}, d.Gradient()))
}

func (k reshape) Run(c *Call) error {
	return Dispatch(c, k, runReshape[float32], runReshape[float64])
}

func runReshape[T kernel.Float](_ reshape, c *Call) error {
	x, y := In[T](c, 0), Out[T](c)
	if len(y) > 0 && &x[0] != &y[0] {
		s := State[addState[T]](c)
		s.inputs = append(s.inputs[:0], x)
		s.Run(c.Pool(), y, s.inputs, false)
	}
	return nil
}
