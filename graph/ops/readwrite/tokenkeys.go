package readwrite

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// tokenKeysParams checks a stream [tokens, Dk, Dv] and keys [tokens, Dk, m].
func tokenKeysParams(x, c graph.Signature) (kernel.TokenKeysParams, error) {
	var p kernel.TokenKeysParams
	if err := graph.WantDims(x, 3, "stream", "[tokens, Dk, Dv]"); err != nil {
		return p, err
	}
	if s := c.Shape; s.Dims() != 3 || s[0] != x.Shape[0] || s[1] != x.Shape[1] {
		return p, errors.Errorf("keys: want [%d, %d, m] for a stream %v, got %v", x.Shape[0], x.Shape[1], x.Shape, s)
	}
	return tokenKeysSizes(x, c), nil
}

func tokenKeysSizes(x, c graph.Signature) kernel.TokenKeysParams {
	return kernel.TokenKeysParams{Tokens: x.Shape[0], M: c.Shape[2], Dk: x.Shape[1], Dv: x.Shape[2]}
}

// tokenKeysFLOPs counts a product over all tokens.
func tokenKeysFLOPs(p kernel.TokenKeysParams) int { return 2 * p.Tokens * p.M * p.Dk * p.Dv }

// readEach retrieves vectors from a matrix stream by separate keys for each token.
type readEach struct{}

// ReadEach retrieves vectors from a matrix stream as Read does, but with separate key vectors for
// each token, like the coefficients of dynamic hyper-connections (Zhu et al. 2024, arXiv
// 2409.19606, eq. 10-13):
//
//	y_t = c_t^T X_t
//
// x [T, Dk, Dv], c [T, Dk, m] with a key in each column, y [T, m, Dv].
func ReadEach(b *graph.Builder, x, c *gorgonia.Node) *gorgonia.Node {
	return b.Apply(readEach{}, x, c)
}

func (readEach) String() string { return "ReadEach" }

func (readEach) FLOPs(c graph.Cost) int {
	return tokenKeysFLOPs(tokenKeysSizes(c.Signature(0), c.Signature(1)))
}

func (readEach) Infer(in []graph.Signature) (graph.Signature, error) {
	p, err := tokenKeysParams(in[0], in[1])
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(p.Tokens, p.M, p.Dv)}, err
}

func (readEach) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Set(0, WriteEach(d.Builder(), d.TakeAccumulated(0), d.Input(1), d.Gradient()))
	}
	if d.Wants(1) {
		d.Make(1, tokenKeysGrad{}, d.Input(0), d.Gradient())
	}
}

func (k readEach) Run(c *graph.Call) {
	graph.Dispatch(c, k, runReadEach, runReadEach)
}

func runReadEach[T kernel.Float](_ readEach, c graph.CallOf[T]) {
	p := tokenKeysSizes(c.Signature(0), c.Signature(1))
	graph.State[kernel.TokenKeys[T]](c).Read(c.Pool(), c.Out(), c.Operand(1), c.Operand(0), p)
}

// writeEach stores vectors into a matrix stream by separate keys for each token.
type writeEach struct{ into bool }

// WriteEach stores vectors into a matrix stream as Write does, but with separate key vectors for
// each token:
//
//	X'_t = X_t + c_t y_t
//
// x [T, Dk, Dv] or nil for an empty stream, c [T, Dk, m] with a key in each column, y T tokens of
// m*Dv entries, X' [T, Dk, Dv].
func WriteEach(b *graph.Builder, x, c, y *gorgonia.Node) *gorgonia.Node {
	if x == nil {
		return b.Apply(writeEach{}, c, y)
	}
	return b.Apply(writeEach{into: true}, c, y, x)
}

func (k writeEach) String() string {
	if k.into {
		return "WriteEach"
	}
	return "StoreEach"
}

func (writeEach) FLOPs(c graph.Cost) int {
	return tokenKeysFLOPs(tokenKeysSizes(c.Result(), c.Signature(0)))
}

func (k writeEach) Infer(in []graph.Signature) (graph.Signature, error) {
	c, y := in[0], in[1]
	if err := graph.WantDims(c, 3, "keys", "[tokens, Dk, m]"); err != nil {
		return graph.Signature{}, err
	}
	if y.Shape.Dims() < 2 || y.Leading() != c.Shape[0] || y.Width()%c.Shape[2] != 0 {
		return graph.Signature{}, errors.Errorf("y: want %d tokens of %d*Dv entries for keys %v, got %v", c.Shape[0], c.Shape[2], c.Shape, y.Shape)
	}
	x := graph.Signature{DType: y.DType, Shape: graph.WithTokens(c.Shape[0], c.Shape[1], y.Width()/c.Shape[2])}
	if k.into && !in[2].Shape.Eq(x.Shape) {
		return graph.Signature{}, errors.Errorf("stream: want %v for keys %v and y %v, got %v", x.Shape, c.Shape, y.Shape, in[2].Shape)
	}
	return x, nil
}

func (k writeEach) InPlace(i int) bool { return k.into && i == 2 }

func (k writeEach) VJP(d *graph.Derivative) {
	if d.Wants(0) {
		d.Make(0, tokenKeysGrad{}, d.Gradient(), d.Input(1))
	}
	if d.Wants(1) {
		d.Make(1, writeEachGradY{y: d.Signature(1)}, d.Gradient(), d.Input(0))
	}
	if k.into {
		d.Set(2, d.Gradient())
	}
}

func (k writeEach) Run(c *graph.Call) {
	graph.Dispatch(c, k, runWriteEach, runWriteEach)
}

func runWriteEach[T kernel.Float](k writeEach, c graph.CallOf[T]) {
	p := tokenKeysSizes(c.Result(), c.Signature(0))
	var x []T
	if k.into {
		x = c.In(2)
	}
	graph.State[kernel.TokenKeys[T]](c).Write(c.Pool(), c.Out(), x, c.Operand(0), c.Operand(1), p)
}

// writeEachGradY computes dy_t = c_t^T G_t in the shape of y: it is a ReadEach of the stream's
// gradient G. Inputs: G and the keys.
type writeEachGradY struct {
	graph.NoGradient
	readEach
	y graph.Signature
}

func (writeEachGradY) String() string { return "GradY of WriteEach" }

func (k writeEachGradY) Infer([]graph.Signature) (graph.Signature, error) { return k.y, nil }

func (k writeEachGradY) VJP(d *graph.Derivative) { k.NoGradient.VJP(d) }

// tokenKeysGrad computes the gradient of each token's keys, dc_t = X_t y_t^T. Inputs for a read:
// the stream X and the gradient of the result. Inputs for a write: the stream's gradient, as X, and
// the vectors written, as y.
type tokenKeysGrad struct{ graph.NoGradient }

func (tokenKeysGrad) String() string { return "GradKeys of each token" }

func (tokenKeysGrad) FLOPs(c graph.Cost) int {
	return tokenKeysFLOPs(tokenKeysSizes(c.Signature(0), c.Result()))
}

func (tokenKeysGrad) KeepsFloat32() bool { return true }

func (tokenKeysGrad) Infer(in []graph.Signature) (graph.Signature, error) {
	x, y := in[0], in[1]
	return graph.Signature{DType: x.DType, Shape: graph.WithTokens(x.Shape[0], x.Shape[1], y.Width()/x.Shape[2])}, nil
}

func (k tokenKeysGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runTokenKeysGrad, runTokenKeysGrad)
}

func runTokenKeysGrad[T kernel.Float](_ tokenKeysGrad, c graph.CallOf[T]) {
	p := tokenKeysSizes(c.Signature(0), c.Result())
	graph.State[kernel.TokenKeys[T]](c).Grad(c.Pool(), c.Out(), c.Operand(0), c.Operand(1), p)
}
