// Package readwrite has the ops that read a matrix stream by keys, normalised or not, and write to
// it.
package readwrite

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// read retrieves vectors from a matrix stream by keys.
type read struct{}

// Read retrieves vectors from a matrix stream (RMT paper eq. 22, 25, 27):
//
//	y_t = keys X_t
//
// x [T, Dk, Dv], keys [m..., Dk], y [T, m..., Dv].
func Read(b *graph.Builder, x, keys *gorgonia.Node) *gorgonia.Node {
	return b.Apply(read{}, x, keys)
}

func (read) String() string { return "Read" }

func (read) FLOPs(c graph.Cost) int { return matrixFLOPs(c.Signature(0), c.Signature(1)) }

// readSignature checks a stream [T, Dk, Dv] and keys [m..., Dk].
func readSignature(x, keys graph.Signature) (graph.Signature, error) {
	if err := graph.WantDims(x, 3, "stream", "[tokens, Dk, Dv]"); err != nil {
		return graph.Signature{}, err
	}
	if dims := keys.Shape.Dims(); dims < 2 || keys.Shape[dims-1] != x.Shape[1] {
		return graph.Signature{}, errors.Errorf("keys: want [..., %d] for a stream %v, got %v", x.Shape[1], x.Shape, keys.Shape)
	}
	heads := keys.Shape[:keys.Shape.Dims()-1]
	return graph.Signature{DType: x.DType, Shape: append(graph.WithTokens(x.Shape[0], heads...), x.Shape[2])}, nil
}

func (read) Infer(in []graph.Signature) (graph.Signature, error) {
	return readSignature(in[0], in[1])
}

func (k read) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Set(0, Write(d.Builder(), nil, d.Input(1), d.Gradient()))
	}
	if d.Wants(1) {
		d.Make(1, keysGrad{}, d.Gradient(), d.Input(0))
	}
}

// streamSizes returns the sizes of a stream and its keys: tokens, key vectors, Dk, Dv.
func streamSizes(x, keys graph.Signature) (tokens, m, dk, dv int) {
	dk = x.Shape[1]
	return x.Shape[0], keys.Size() / dk, dk, x.Shape[2]
}

// ByRows returns true.
func (read) ByRows() bool { return true }

func (k read) Run(c *graph.Call) {
	graph.Dispatch(c, k, runRead, runRead)
}

func runRead[T kernel.Float](_ read, c graph.CallOf[T]) {
	tokens, m, dk, dv := streamSizes(c.Signature(0), c.Signature(1))
	graph.State[kernel.Read[T]](c).Run(c.Pool(), c.RowsOut(), c.In(1), c.Rows(0), tokens, m, dk, dv)
}

// keysGrad computes the gradient of keys: dkeys = sum_t y_t X_t^T. Inputs: y [T, m..., Dv] and the
// stream X [T, Dk, Dv]; for a write, X is the gradient of the stream.
type keysGrad struct {
	graph.NoGradient
}

func (k keysGrad) String() string { return "KeysGrad" }

func (k keysGrad) FLOPs(c graph.Cost) int { // sum_t y_t X_t^T
	return matrixFLOPs(c.Signature(1), c.Result())
}

func (k keysGrad) Accumulates() bool { return true }

// ByRows returns true.
func (keysGrad) ByRows() bool { return true }

func (k keysGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runKeysGrad, runKeysGrad)
}

func runKeysGrad[T kernel.Float](k keysGrad, c graph.CallOf[T]) {
	tokens, m, dk, dv := streamSizes(c.Signature(1), c.Result())
	graph.State[kernel.KeysGrad[T]](c).Run(c.Pool(), c.Out(), c.Rows(0), c.Rows(1), tokens, m, dk, dv, c.Accumulate())
}

// matrixFLOPs counts a read or a write of a stream [T, Dk, Dv] with keys [m..., Dk].
func matrixFLOPs(x, keys graph.Signature) int {
	tokens, m, dk, dv := streamSizes(x, keys)
	return 2 * tokens * m * dk * dv
}
