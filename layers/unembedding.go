package layers

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
)

// Unembedding turns features into logits or a loss: logits = scale * x W.
type Unembedding struct {
	b     *graph.Builder
	w     *gorgonia.Node
	tied  bool
	scale float64
}

// UnembeddingConfig describes the map from features to logits.
type UnembeddingConfig struct {
	Features, Vocab int
	Tied            *gorgonia.Node // the embedding's table [Vocab, ...Features], or nil
	Scale           float64        // muP output multiplier over the width ratio; 0 means 1
}

// NewUnembedding makes the parameter name [Features, Vocab], zero at first, unless the
// table is tied.
func NewUnembedding(b *graph.Builder, name string, c UnembeddingConfig) *Unembedding {
	u := &Unembedding{b: b, w: c.Tied, tied: c.Tied != nil, scale: c.Scale}
	if !u.tied {
		u.w = b.Param(Zero(name, c.Features, c.Vocab))
	}
	return u
}

// Logits returns [T, Vocab] for features [T, ...Features].
func (u *Unembedding) Logits(features *gorgonia.Node) *gorgonia.Node {
	return linear.Map(u.b, features, u.w, linear.Options{Transposed: u.tied, Scale: u.scale})
}

// Loss is loss.CrossEntropy of features against targets.
func (u *Unembedding) Loss(features, targets *gorgonia.Node, zLoss float64) *gorgonia.Node {
	return loss.CrossEntropy(u.b, features, u.w, targets, u.options(zLoss))
}

// TokenLosses is loss.Tokens of features against targets, [T].
func (u *Unembedding) TokenLosses(features, targets *gorgonia.Node) *gorgonia.Node {
	return loss.Tokens(u.b, features, u.w, targets, u.options(0))
}

// Weights are the logits' weights, scale * W [Features, Vocab]: features times them are the
// logits. A tied table is transposed.
func (u *Unembedding) Weights() []float64 {
	w := graph.Float64s(u.b.Store().Param(u.w.Name()).Value)
	rows := u.w.Shape()[0]
	columns := len(w) / rows
	if u.tied {
		w = transpose(w, rows, columns)
	}
	if u.scale != 0 {
		for i := range w {
			w[i] *= u.scale
		}
	}
	return w
}

// Column is column number id of Weights [Features], what a logit is of the features, without
// a copy of the others.
func (u *Unembedding) Column(id int) []float64 {
	w, features, vocab := u.values()
	column := make([]float64, features)
	for i := range column {
		at := i*vocab + id
		if u.tied {
			at = id*features + i
		}
		switch w := w.(type) {
		case []float32:
			column[i] = float64(w[at])
		case []float64:
			column[i] = w[at]
		}
		if u.scale != 0 {
			column[i] *= u.scale
		}
	}
	return column
}

// Apply returns the logits [n, Vocab] of features x [n, Features] without a graph, at the
// Store's precision.
func (u *Unembedding) Apply(x []float64) []float64 {
	w, features, vocab := u.values()
	switch w := w.(type) {
	case []float32:
		return scaledProduct(u, x, w, features, vocab)
	case []float64:
		return scaledProduct(u, x, w, features, vocab)
	}
	return nil
}

// scaledProduct is scale * x W, with W [Features, Vocab] or, tied, [Vocab, Features].
func scaledProduct[T kernel.Float](u *Unembedding, x []float64, w []T, features, vocab int) []float64 {
	n, scale, stride := len(x)/features, T(1), vocab
	if u.scale != 0 {
		scale = T(u.scale)
	}
	if u.tied {
		stride = features
	}
	in, out := make([]T, len(x)), make([]T, n*vocab)
	for i, v := range x {
		in[i] = T(v)
	}
	new(kernel.GemmSerial[T]).Run(false, u.tied, n, vocab, features, scale, in, features, w, stride, 0, out, vocab)
	wide := make([]float64, len(out))
	for i, v := range out {
		wide[i] = float64(v)
	}
	return wide
}

// values are the weights as the Store has them, []float32 or []float64, and their sizes.
func (u *Unembedding) values() (w any, features, vocab int) {
	p, shape := u.b.Store().Param(u.w.Name()), u.w.Shape()
	if u.tied {
		return p.Value.Data(), shape.TotalSize() / shape[0], shape[0]
	}
	return p.Value.Data(), shape[0], shape.TotalSize() / shape[0]
}

// transpose turns [rows, columns] into [columns, rows].
func transpose(w []float64, rows, columns int) []float64 {
	turned := make([]float64, len(w))
	for i := range rows {
		for j := range columns {
			turned[j*rows+i] = w[i*columns+j]
		}
	}
	return turned
}

func (u *Unembedding) options(zLoss float64) loss.Options {
	return loss.Options{Transposed: u.tied, Scale: u.scale, ZLoss: zLoss}
}
