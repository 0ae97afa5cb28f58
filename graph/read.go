package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// read retrieves from a matrix stream with key vectors.
type read struct{}

// Read retrieves vectors from a matrix stream (RMT paper eq. 22-23, 26):
//
//	y_t = keys X_t
//
// x [T, Dk, Dv], keys [m..., Dk], y [T, m..., Dv].
func (b *Builder) Read(x, keys *gorgonia.Node) *gorgonia.Node {
	return b.Apply(read{}, x, keys)
}

func (read) String() string { return "Read" }

func (read) FLOPs(c Cost) int { return matrixFLOPs(c.Signature(0), c.Signature(1)) }

// readSignature checks a stream [T, Dk, Dv] and keys [m..., Dk].
func readSignature(x, keys Signature) (Signature, error) {
	if err := WantDims(x, 3, "stream", "[tokens, Dk, Dv]"); err != nil {
		return Signature{}, err
	}
	if dims := keys.Shape.Dims(); dims < 2 || keys.Shape[dims-1] != x.Shape[1] {
		return Signature{}, errors.Errorf("keys: want [..., %d] for a stream %v, got %v", x.Shape[1], x.Shape, keys.Shape)
	}
	heads := keys.Shape[:keys.Shape.Dims()-1]
	return Signature{x.DType, append(WithTokens(x.Shape[0], heads...), x.Shape[2])}, nil
}

func (read) Infer(in []Signature) (Signature, error) {
	if err := WantFloats(in); err != nil {
		return Signature{}, err
	}
	return readSignature(in[0], in[1])
}

func (k read) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.b.Write(nil, d.Input(1), d.Gradient()))
	}
	if d.Wants(1) {
		d.Set(1, d.Apply(keysGrad{keys: d.Signature(1)}, d.Gradient(), d.Input(0)))
	}
}

// streamSizes returns the sizes of a stream and its keys: tokens, key vectors, Dk, Dv.
func streamSizes(x, keys Signature) (tokens, m, dk, dv int) {
	dk = x.Shape[1]
	return x.Shape[0], keys.Size() / dk, dk, x.Shape[2]
}

func (k read) Run(c *Call) error {
	return Dispatch(c, k, runRead[float32], runRead[float64])
}

func runRead[T kernel.Float](_ read, c *Call) error {
	tokens, m, dk, dv := streamSizes(c.Signature(0), c.Signature(1))
	State[kernel.Read[T]](c).Run(c.Pool(), Out[T](c), In[T](c, 1), In[T](c, 0), tokens, m, dk, dv)
	return nil
}

// keysGrad is the gradient of key vectors: dkeys = sum_t y_t X_t^T. Inputs: y
// [T, m..., Dv] and the stream X [T, Dk, Dv] (or its gradient, for a write).
type keysGrad struct {
	NoGradient
	keys Signature
}

func (k keysGrad) String() string { return "KeysGrad" }

func (k keysGrad) FLOPs(c Cost) int { // sum_t y_t X_t^T
	return matrixFLOPs(c.Signature(1), k.keys)
}

func (k keysGrad) Infer([]Signature) (Signature, error) { return k.keys, nil }

func (k keysGrad) Accumulates() bool { return true }

func (k keysGrad) Run(c *Call) error {
	return Dispatch(c, k, runKeysGrad[float32], runKeysGrad[float64])
}

func runKeysGrad[T kernel.Float](k keysGrad, c *Call) error {
	tokens, m, dk, dv := streamSizes(c.Signature(1), k.keys)
	State[kernel.KeysGrad[T]](c).Run(c.Pool(), Out[T](c), In[T](c, 0), In[T](c, 1), tokens, m, dk, dv, c.Accumulate())
	return nil
}
