package layers

import (
	"math"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
	"github.com/residua-go/residua/graph/ops/elementwise"
	"github.com/residua-go/residua/graph/ops/linear"
	"github.com/residua-go/residua/graph/ops/loss"
)

// Unembedding turns features into logits or a loss:
//
//	logits = scale * x W, or c tanh(scale * x W / c) with a soft cap c (Gemma 2, arXiv 2408.00118, section 2)
type Unembedding struct {
	b          *graph.Builder
	w          *gorgonia.Node
	tied       bool // w is the embedding's table
	transposed bool // w is [Vocab, Features] in the graph, like a table: it is the table, or a weight that a device stores transposed
	scale      float64
	cap        float64
}

// UnembeddingConfig describes the map from features to logits.
type UnembeddingConfig struct {
	Features, Vocab int
	Tied            *gorgonia.Node // the embedding's table [Vocab, ...Features], or nil
	Scale           float64        // muP output multiplier divided by the width ratio; 0 means 1
	Init            Init           // with All, w starts like a hidden weight; otherwise at zero
	SoftCap         float64        // c: logits become c tanh(logits / c), after the scale; 0: they are not bounded
}

// NewUnembedding makes the parameter name [Features, Vocab], which starts at zero or as Init says,
// unless the table is tied.
func NewUnembedding(b *graph.Builder, name string, c UnembeddingConfig) *Unembedding {
	u := &Unembedding{b: b, w: c.Tied, tied: c.Tied != nil, transposed: c.Tied != nil, scale: c.Scale, cap: c.SoftCap}
	if !u.tied {
		p := Zero(name, c.Features, c.Vocab)
		if c.Init.All {
			p.Init = graph.Normal(c.Init.Std / math.Sqrt(float64(c.Features)))
		}
		u.w, u.transposed = b.TransposedParam(p)
	}
	return u
}

// Logits returns [T, Vocab] for features [T, ...Features].
func (u *Unembedding) Logits(features *gorgonia.Node) *gorgonia.Node {
	logits := linear.Map(u.b, features, u.w, linear.Options{Transposed: u.transposed, Scale: u.scale})
	return elementwise.SoftCap(u.b, logits, u.cap)
}

// Loss returns loss.CrossEntropy of features against targets.
func (u *Unembedding) Loss(features, targets *gorgonia.Node, zLoss float64) *gorgonia.Node {
	return loss.CrossEntropy(u.b, features, u.w, targets, u.options(zLoss))
}

// TokenLosses returns loss.Tokens of features against targets, [T].
func (u *Unembedding) TokenLosses(features, targets *gorgonia.Node) *gorgonia.Node {
	return loss.Tokens(u.b, features, u.w, targets, u.options(0))
}

// Weights returns the logits' weights, scale * W [Features, Vocab]: features times them are the
// logits before the soft cap. A tied table is transposed.
func (u *Unembedding) Weights() []float64 {
	p := u.param()
	w, rows := graph.Float64s(p.Value), p.Shape[0]
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

// Column returns column id of Weights, [Features], without copying the others. Its product with the
// features is the logit before the soft cap.
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

// scaledProduct computes scale * x W, soft-capped if there is a cap, with W [Features, Vocab] or,
// tied, [Vocab, Features].
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
	new(kernel.Gemm[T]).Run(nil, false, u.tied, n, vocab, features, scale, in, features, w, stride, 0, out, vocab)
	if u.cap > 0 {
		new(kernel.Elementwise[T]).Run(nil, kernel.SoftCap[T], [][]T{out}, [][]T{out}, u.cap)
	}
	wide := make([]float64, len(out))
	for i, v := range out {
		wide[i] = float64(v)
	}
	return wide
}

// uncapLimit is the largest ratio of a logit to its cap that Uncapped uses: the largest float32
// below 1.
const uncapLimit = 1 - 0x1p-24

// Uncapped undoes the soft cap, c atanh(logit/c); without a cap it returns the logit itself. If
// rounding has moved a logit to the cap, it uses the number just below.
func (u *Unembedding) Uncapped(logit float64) float64 {
	if u.cap == 0 {
		return logit
	}
	return u.cap * math.Atanh(max(-uncapLimit, min(logit/u.cap, uncapLimit)))
}

// values returns the weights as they are in the Store, []float32 or []float64, and their sizes.
func (u *Unembedding) values() (w any, features, vocab int) {
	p := u.param()
	rows, columns := p.Shape[0], p.Size()/p.Shape[0]
	if u.tied {
		return p.Value.Data(), columns, rows
	}
	return p.Value.Data(), rows, columns
}

// param returns the weight as it is in the Store: [Features, Vocab], or the table.
func (u *Unembedding) param() *graph.Param { return u.b.Store().Param(u.w.Name()) }

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
	return loss.Options{Transposed: u.transposed, Scale: u.scale, SoftCap: u.cap, ZLoss: zLoss}
}
