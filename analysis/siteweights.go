package analysis

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// siteName is "blocks.3.attention".
func siteName(layer int, kind stream.Kind) string {
	return stream.Site{Block: layer, Kind: kind}.Name()
}

// isMatrix tells whether sites read and write by key vectors.
func (f *Folded) isMatrix() bool { return f.c.Stream == models.StreamMatrix }

// values are a parameter's, in memory of their own; nil without it.
func (f *Folded) values(name string) []float64 {
	p := f.store.Param(name)
	if p == nil {
		return nil
	}
	return graph.Float64s(p.Value)
}

// dense is a parameter as a matrix of so many rows, in memory of its own.
func (f *Folded) dense(name string, rows int) *mat.Dense {
	w := f.values(name)
	return mat.NewDense(rows, len(w)/rows, w)
}

// norm is a norm of a stream of vectors at scale 1.
func (f *Folded) norm(name string) normRows {
	return normRows{f.values(name), 1, f.c.Norm == models.NormLayer}
}

// fold folds the norm called name into W [D, m], which reads behind it.
func (f *Folded) fold(name string, w *mat.Dense) *mat.Dense { return f.norm(name).columns(w) }

// attention are W_Q | W_K | W_V [D, 3W] of all heads of a layer, folded, and W_O [W, D]: W =
// heads*Dh; of a matrix stream keys [Dk, 3R] and [R, Dk].
func (f *Folded) attention(layer int) (qkv, o *mat.Dense) {
	name := siteName(layer, stream.Attention)
	if f.isMatrix() {
		return mat.DenseCopyOf(f.foldedKeys(name+".read", name+".norm").T()), f.keys(name + ".write")
	}
	return f.fold(name+".norm", f.dense(name+".qkv", f.c.DModel)), f.dense(name+".o", f.attentionRows())
}

// attentionRows is the number of directions that attention writes along, and that its
// queries, keys or values read with: heads*Dh, or R.
func (f *Folded) attentionRows() int {
	if f.isMatrix() {
		return f.c.Rank
	}
	return f.c.HeadCount() * f.c.HeadDim()
}

// feedForward are W1 [D, N], folded, and W2 [N, D] of a layer; of a matrix stream the keys in
// front of W1 and behind W2, [Dk, R] and [R, Dk].
func (f *Folded) feedForward(layer int) (in, out *mat.Dense) {
	name := siteName(layer, stream.FeedForward)
	if f.isMatrix() {
		return mat.DenseCopyOf(f.foldedKeys(name+".read", name+".norm").T()), f.keys(name + ".write")
	}
	w1, w2 := f.neurons(layer)
	return f.fold(name+".norm", w1), w2
}

// feedForwardRows is the number of directions that a feed-forward writes along, or reads
// with: its neurons, or R.
func (f *Folded) feedForwardRows() int {
	if f.isMatrix() {
		return f.c.Rank
	}
	return max(1, f.c.Experts) * f.c.FF
}

// head is one head's share of such weights: W_V [D, Dh] and W_O [Dh, D].
func (f *Folded) head(qkv, o *mat.Dense, h int) (v, out mat.Matrix) {
	dh, width := f.c.HeadDim(), f.c.HeadCount()*f.c.HeadDim()
	from := 2*width + h*dh
	return qkv.Slice(0, f.c.DModel, from, from+dh), o.Slice(h*dh, (h+1)*dh, 0, f.c.DModel)
}

// neurons are W1 [F, N] and W2 [N, F] of a layer's feed-forward as they stand, of the features
// F = D or R*Dv: N neurons, those of all experts one after another.
func (f *Folded) neurons(layer int) (w1, w2 *mat.Dense) {
	name, features := siteName(layer, stream.FeedForward), f.c.Width()
	experts := max(1, f.c.Experts)
	w2 = f.dense(name+".w2", experts*f.c.FF)
	if f.c.Experts == 0 {
		return f.dense(name+".w1", features), w2
	}
	each := f.values(name + ".w1") // [experts, F, FF]
	w1 = mat.NewDense(features, experts*f.c.FF, nil)
	for e := range experts {
		for i := range features {
			copy(w1.RawRowView(i)[e*f.c.FF:], share(share(each, experts, e), features, i))
		}
	}
	return w1, w2
}

// keys are a matrix stream's key vectors called name, [m, Dk].
func (f *Folded) keys(name string) *mat.Dense {
	w := f.values(name)
	return mat.NewDense(len(w)/f.c.Dk, f.c.Dk, w)
}

// foldedKeys are reading keys [m, Dk] with the norm in front of them folded as far as one key
// a read allows: r[d] * mean_v g[d, v]. The norm's own centring, over all Dk*Dv entries
// jointly, takes the same number from all entries and is no map of key space: it is left out.
func (f *Folded) foldedKeys(name, norm string) *mat.Dense {
	keys, gain := f.keys(name), f.values(norm)
	mean := make([]float64, f.c.Dk)
	for d := range mean {
		mean[d] = floats.Sum(share(gain, f.c.Dk, d)) / float64(f.c.Dv)
	}
	for i := range keys.RawMatrix().Rows {
		floats.Mul(keys.RawRowView(i), mean)
	}
	return keys
}
