package readwrite

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// write stores vectors into a matrix stream by keys.
type write struct{ into bool }

// Write stores vectors into a matrix stream (RMT paper eq. 18-20, 23):
//
//	X'_t = X_t + keys^T y_t
//
// x [T, Dk, Dv] or nil for an empty stream, keys [m..., Dk], y T tokens of m*Dv
// entries, X' [T, Dk, Dv].
func Write(b *graph.Builder, x, keys, y *gorgonia.Node) *gorgonia.Node {
	if x == nil {
		return b.Apply(write{}, keys, y)
	}
	return b.Apply(write{into: true}, keys, y, x)
}

func (k write) String() string {
	if k.into {
		return "Write"
	}
	return "Store"
}

func (write) FLOPs(c graph.Cost) int { return matrixFLOPs(c.Result(), c.Signature(0)) }

func (k write) Infer(in []graph.Signature) (graph.Signature, error) {
	dims := in[0].Shape.Dims()
	if dims < 2 {
		return graph.Signature{}, errors.Errorf("keys: want shape [..., Dk], got %v", in[0].Shape)
	}
	dk := in[0].Shape[dims-1]
	m := in[0].Size() / dk
	if in[1].Shape.Dims() < 2 || in[1].Width()%m != 0 {
		return graph.Signature{}, errors.Errorf("y: want [tokens, %d*Dv] for keys %v, got %v", m, in[0].Shape, in[1].Shape)
	}
	result := graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[1].Leading(), dk, in[1].Width()/m)}
	if k.into && !in[2].Shape.Eq(result.Shape) {
		return graph.Signature{}, errors.Errorf("stream: want %v for keys %v and y %v, got %v", result.Shape, in[0].Shape, in[1].Shape, in[2].Shape)
	}
	return result, nil
}

func (k write) InPlace(i int) bool { return i == 2 }

func (k write) VJP(d *graph.Derivative) {
	if k.into {
		d.Set(2, d.Gradient())
	}
	switch {
	case d.Wants(1):
		primary := d.Make(1, writeGrad{}, d.Gradient(), d.Input(0), d.Input(1))
		d.SetSecondary(0, primary, 0, "GradKeys of Write")
	case d.Wants(0):
		d.Make(0, keysGrad{}, d.Input(1), d.Gradient())
	}
}

// ByRows returns true.
func (write) ByRows() bool { return true }

func (k write) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWrite, runWrite)
}

func runWrite[T kernel.Float](k write, c graph.CallOf[T]) {
	tokens, m, dk, dv := streamSizes(c.Result(), c.Signature(0))
	graph.State[kernel.Write[T]](c).Run(c.Pool(), c.RowsOut(), c.Rows(2), c.In(0), c.Rows(1), tokens, m, dk, dv)
}

// writeGrad computes the gradient dy of a Write; its secondary is dkeys, computed in the same pass
// over the stream's gradient. Inputs: the stream's gradient, keys, y.
type writeGrad struct {
	graph.NoGradient
}

func (k writeGrad) String() string { return "GradY and GradKeys of Write" }

func (writeGrad) FLOPs(c graph.Cost) int { // dy, and dkeys
	return (1 + c.Secondary(0)) * matrixFLOPs(c.Signature(0), c.Signature(1))
}

// ByRows returns true.
func (writeGrad) ByRows() bool { return true }

func (k writeGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWriteGrad, runWriteGrad)
}

func runWriteGrad[T kernel.Float](_ writeGrad, c graph.CallOf[T]) {
	tokens, m, dk, dv := streamSizes(c.Signature(0), c.Signature(1))
	dkeys, accumulate := c.SecondaryOut(0)
	graph.State[kernel.WriteGrad[T]](c).Run(c.Pool(), c.RowsOut(), dkeys, c.Rows(0), c.In(1), c.Rows(2), tokens, m, dk, dv, accumulate)
}
