package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// embedding gathers rows of a table.
type embedding struct{ scale float64 }

// Embedding gathers rows of a table (RMT paper eq. 18; GPT-2's wte and wpe):
//
//	y_t = scale * table[ids_t]
//
// table [V, ...], ids Int32 of any shape with T elements, y [T, ...]. The gradient of
// the table scatter-adds in token order. An id outside [0, V) is an error of the run; on a
// GPU, which a run does not wait for, it gives a row of NaN.
func (b *Builder) Embedding(table, ids *gorgonia.Node, scale float64) *gorgonia.Node {
	return b.Apply(embedding{scale}, table, ids)
}

func (k embedding) String() string { return fmt.Sprintf("Embedding(scale=%g)", k.scale) }

// bytes counts the rows of the tokens alone, not the whole table.
func (embedding) bytes(c cost) int { return c.in(1).bytes() + 2*c.out().bytes() }

func (k embedding) Infer(in []Signature) (Signature, error) {
	if err := wantFloats(in[:1]); err != nil {
		return Signature{}, err
	}
	if err := wantInts(in, 1, "ids"); err != nil {
		return Signature{}, err
	}
	if in[0].Shape.Dims() < 2 {
		return Signature{}, errors.Errorf("table: want shape [vocab, ...], got %v", in[0].Shape)
	}
	return Signature{in[0].DType, withTokens(in[1].size(), in[0].Shape[1:]...)}, nil
}

func (k embedding) Differentiable(i int) bool { return i == 0 }

func (k embedding) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.b.Apply(embeddingGrad{scale: k.scale, table: d.op.in[0]}, d.Input(1), d.Gradient()))
	}
}

func (k embedding) Run(c *Call) error {
	if c.Double() {
		return runEmbedding[float64](k, c)
	}
	return runEmbedding[float32](k, c)
}

func runEmbedding[T kernel.Float](k embedding, c *Call) error {
	table := c.op.in[0]
	return State[kernel.Embedding[T]](c).Forward(c.Pool(), Out[T](c), In[T](c, 0), In[int32](c, 1),
		table.leading(), table.width(), k.scale)
}

// embeddingGrad is the gradient of Embedding's table: inputs ids and dy.
type embeddingGrad struct {
	NoGradient
	scale float64
	table Signature
}

func (k embeddingGrad) String() string {
	return fmt.Sprintf("EmbeddingGrad(scale=%g, table=%v)", k.scale, k.table.Shape)
}

func (k embeddingGrad) Infer([]Signature) (Signature, error) { return k.table, nil }

func (k embeddingGrad) Accumulates() bool { return true }

func (embeddingGrad) fullPrecision() bool { return true }

func (k embeddingGrad) Run(c *Call) error {
	if c.Double() {
		return runEmbeddingGrad[float64](k, c)
	}
	return runEmbeddingGrad[float32](k, c)
}

func runEmbeddingGrad[T kernel.Float](k embeddingGrad, c *Call) error {
	return State[kernel.Embedding[T]](c).Backward(c.Pool(), Out[T](c), In[T](c, 1), In[int32](c, 0),
		k.table.leading(), k.table.width(), k.scale, c.Accumulate())
}
