// Package embedding has the op that gathers rows of a table.
package embedding

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// embedding gathers rows of a table.
type embedding struct{ scale float64 }

// Gather gathers rows of a table (RMT paper eq. 18; GPT-2's wte and wpe):
//
//	y_t = scale * table[ids_t]
//
// table [V, ...], ids Int32 of any shape with T elements, y [T, ...]. The gradient adds the tokens'
// gradients to the rows of the table in token order. An id outside [0, V) is an error of the run;
// on a GPU, for which a run does not wait, it gives a row of NaN.
func Gather(b *graph.Builder, table, ids *gorgonia.Node, scale float64) *gorgonia.Node {
	return b.Apply(embedding{scale}, table, ids)
}

func (k embedding) String() string { return fmt.Sprintf("Embedding(scale=%g)", k.scale) }

// Bytes counts only the gathered rows, not the whole table.
func (embedding) Bytes(c graph.Cost) int { return c.Signature(1).Bytes() + 2*c.Result().Bytes() }

// ReadsInts returns true for the ids.
func (embedding) ReadsInts(i int) bool { return i == 1 }

func (k embedding) Infer(in []graph.Signature) (graph.Signature, error) {
	if in[0].Shape.Dims() < 2 {
		return graph.Signature{}, errors.Errorf("table: want shape [vocab, ...], got %v", in[0].Shape)
	}
	return graph.Signature{DType: in[0].DType, Shape: graph.WithTokens(in[1].Size(), in[0].Shape[1:]...)}, nil
}

func (k embedding) VJP(d *graph.Derivative) {
	d.Make(0, embeddingGrad{scale: k.scale, table: d.Signature(0)}, d.Input(1), d.Gradient())
}

func (k embedding) Run(c *graph.Call) {
	graph.Dispatch(c, k, runEmbedding, runEmbedding)
}

func runEmbedding[T kernel.Float](k embedding, c graph.CallOf[T]) {
	table := c.Signature(0)
	c.Fail(graph.State[kernel.Embedding[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.Ints(1),
		table.Leading(), table.Width(), k.scale))
}

// embeddingGrad computes the gradient of the table. Inputs: ids, dy.
type embeddingGrad struct {
	graph.NoGradient
	scale float64
	table graph.Signature
}

func (k embeddingGrad) String() string {
	return fmt.Sprintf("EmbeddingGrad(scale=%g, table=%v)", k.scale, k.table.Shape)
}

func (k embeddingGrad) Accumulates() bool { return true }

func (embeddingGrad) KeepsFloat32() bool { return true }

func (k embeddingGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runEmbeddingGrad, runEmbeddingGrad)
}

func runEmbeddingGrad[T kernel.Float](k embeddingGrad, c graph.CallOf[T]) {
	c.Fail(graph.State[kernel.Embedding[T]](c).Backward(c.Pool(), c.Out(), c.In(1), c.Ints(0),
		k.table.Leading(), k.table.Width(), k.scale, c.Accumulate()))
}
