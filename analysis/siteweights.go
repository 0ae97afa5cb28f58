package analysis

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// siteName is "blocks.3.attention".
func siteName(layer int, kind stream.Kind) string {
	return stream.Site{Block: layer, Kind: kind}.Name()
}

// isAttention tells whether a site is one.
func (f *Folded) isAttention(site string) bool { return f.sites[site].Kind == stream.Attention }

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

// behind are the maps behind what a site reads: those in front of the weights or keys with which
// it reads, and these where they are the stream's own, a linear.Matrix or linear.Keys, or nil.
func (f *Folded) behind(site string) (norms linear.Chain, own linear.Map) {
	chain, _ := f.held.Behind(site) // foldFor has asked for it
	if len(chain) == 0 {
		return nil, nil
	}
	last := len(chain) - 1
	switch m := chain[last].(type) {
	case linear.Matrix:
		return chain[:last], m
	case linear.Transposed:
		return chain[:last], m.Of
	}
	return chain, nil
}

// reading are the directions with which a site reads, rows [count, size], with the norm in front
// of them folded in: W_Q | W_K | W_V of all heads; W1, of all experts; the unembedding; or keys.
func (f *Folded) reading(site string) *mat.Dense {
	norms, own := f.behind(site)
	switch w := own.(type) {
	case linear.Keys:
		return foldedKeys(w, norms)
	case linear.Matrix:
		return norms.Back(mat.DenseCopyOf(mat.NewDense(w.In, w.Out, w.W).T()))
	}
	w := f.unembedding
	if site != unembeddingSite {
		w = func() *mat.Dense { return f.blockWeights(site) }
	}
	return norms.Back(mat.DenseCopyOf(w().T()))
}

// readSizes are the number of directions with which a site reads, their size, and of how many
// columns of the state each is.
func (f *Folded) readSizes(site string) (count, size, values int) {
	norms, own := f.behind(site)
	switch w := own.(type) {
	case linear.Keys:
		return len(w.Vectors) / w.Dk, w.Dk, w.Width
	case linear.Matrix:
		count, size = w.Out, w.In
	default:
		if site == unembeddingSite {
			count, size = f.c.Vocab, f.c.Width()
		} else {
			p := f.store.Param(site + ".w1") // [F, N], or [experts, F, N]
			size = f.c.Width()
			count = p.Size() / size
		}
	}
	if len(norms) > 0 {
		size, _ = norms.Sizes()
	}
	return count, size, 1
}

// writing are the directions along which a site writes, rows [count, size].
func (f *Folded) writing(site string) *mat.Dense {
	for _, e := range f.ends {
		if e.site == site && !e.reads {
			return e.weights()
		}
	}
	return nil
}

// foldedKeys are reading keys [m, Dk] with the norm in front of them folded as far as one key
// a read allows: r[d] * mean_v g[d, v]. The norm's own centring, over all Dk*Dv entries
// jointly, takes the same number from all entries and is no map of key space: it is left out.
func foldedKeys(w linear.Keys, norms linear.Chain) *mat.Dense {
	rows := keyRows(w)
	for _, m := range norms {
		norm, ok := m.(linear.Norm)
		if !ok {
			continue
		}
		mean := make([]float64, w.Dk)
		for d := range mean {
			mean[d] = floats.Sum(share(norm.Gain, w.Dk, d)) / float64(w.Width)
		}
		for i := range rows.RawMatrix().Rows {
			floats.Mul(rows.RawRowView(i), mean)
		}
	}
	return rows
}

// keyRows are key vectors as rows [R, Dk], in memory of their own.
func keyRows(w linear.Keys) *mat.Dense {
	return mat.DenseCopyOf(mat.NewDense(len(w.Vectors)/w.Dk, w.Dk, w.Vectors))
}

// blockWeights are W1 [F, N] of a feed-forward as they stand, of the features F = D or R*Dv: N
// neurons, those of all experts one after another.
func (f *Folded) blockWeights(site string) *mat.Dense {
	p, features := f.store.Param(site+".w1"), f.c.Width()
	if len(p.Shape) == 2 {
		return f.dense(site+".w1", features)
	}
	experts, each := p.Shape[0], f.values(site+".w1") // [experts, F, FF]
	ff := p.Shape[2]
	w1 := mat.NewDense(features, experts*ff, nil)
	for e := range experts {
		for i := range features {
			copy(w1.RawRowView(i)[e*ff:], share(share(each, experts, e), features, i))
		}
	}
	return w1
}

// unembedding is W_unembed [F, V].
func (f *Folded) unembedding() *mat.Dense {
	return mat.NewDense(f.c.Width(), f.c.Vocab, f.model.UnembeddingWeights())
}

// table is the embedding's rows as they are looked up, [V, E], with muP's factor.
func (f *Folded) table() *mat.Dense {
	w := f.dense(embeddingSite, f.c.Vocab)
	for _, writer := range f.model.Writers() {
		if writer.Name == embeddingSite && writer.Scale != 1 {
			w.Scale(writer.Scale, w)
		}
	}
	return w
}
