// Package shape has the ops that rearrange entries: they change axes, join tensors, take
// parts, make copies, and sum copies. It also makes constant tensors.
package shape

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// reshape gives a token's features other axes.
type reshape struct{ features tensor.Shape }

// Reshape gives each token's features the given axes:
//
//	x [T, ...] -> [T, axes...]
//
// It costs nothing if nothing reads x later, otherwise a copy.
func Reshape(b *graph.Builder, x *gorgonia.Node, axes ...int) *gorgonia.Node {
	return b.Apply(reshape{tensor.Shape(axes).Clone()}, x)
}

func (k reshape) String() string { return fmt.Sprintf("Reshape %v", k.features) }

func (k reshape) Infer(in []graph.Signature) (graph.Signature, error) {
	if in[0].Shape.Dims() < 2 || k.features.TotalSize() != in[0].Width() {
		return graph.Signature{}, errors.Errorf("x: want [tokens, ...] of %d entries each for the axes %v, got shape %v", k.features.TotalSize(), k.features,
			in[0].Shape)
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[0].Leading(), k.features...)}, nil
}

func (reshape) InPlace(int) bool { return true }

func (reshape) SameType() bool { return true }

func (reshape) VJP(d *graph.Derivative) {
	d.Make(0, reshape{d.Signature(0).Shape[1:].Clone()}, d.Gradient())
}

// ByRows returns true.
func (reshape) ByRows() bool { return true }

func (k reshape) Run(c *graph.Call) {
	graph.Dispatch(c, k, runReshape, runReshape)
}

// reshapeState is a kernel that copies its one input on all workers.
type reshapeState[T kernel.Float] struct {
	kernel.Add[T]
	inputs [1]kernel.Rows[T]
}

func runReshape[T kernel.Float](_ reshape, c graph.CallOf[T]) {
	s := graph.State[reshapeState[T]](c)
	s.inputs[0] = c.Rows(0)
	s.Run(c.Pool(), c.RowsOut(), s.inputs[:], false)
}
