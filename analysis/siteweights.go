package analysis

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// siteName returns the name of a sublayer's site, "blocks.3.attention".
func siteName(layer int, kind stream.Sublayer) string {
	return stream.Site{Block: layer, Sublayer: kind}.Name()
}

// isAttention tells whether a site's name is an attention's.
func isAttention(site string) bool { return strings.HasSuffix(site, "."+string(stream.Attention)) }

// parameter is the name of a site's parameter.
func (f *Folded) parameter(site, part string) string { return f.c.ParameterName(site + "." + part) }

// values returns a copy of a parameter's values, or nil if there is no such parameter.
func (f *Folded) values(name string) []float64 {
	p := f.store.Param(name)
	if p == nil {
		return nil
	}
	return graph.Float64s(p.Value)
}

// dense returns a copy of a parameter as a matrix with the given number of rows.
func (f *Folded) dense(name string, rows int) *mat.Dense {
	w := f.values(name)
	return mat.NewDense(rows, len(w)/rows, w)
}

// after splits what happens to the stream when a site reads it: first norms, then own, the
// weights or keys (a linear.Matrix or linear.Keys) with which it reads. own is nil if these do
// not belong to the stream.
func (f *Folded) after(site string) (norms linear.Chain, own linear.Map) {
	chain, _ := f.frozen.After(site) // one of the form's own names
	if len(chain) == 0 {
		return nil, nil
	}
	last := len(chain) - 1
	if keys, ok := linear.KeysOf(chain[last]); ok {
		return chain[:last], keys
	}
	if w, ok := chain[last].(linear.Matrix); ok {
		return chain[:last], w
	}
	return chain, nil
}

// setReader finds the directions with which a site reads, the norm in front of them folded in:
// keys; W_Q | W_K | W_V of all heads; W1, of all experts; W1 | W3 where W1 is the gate's; the
// unembedding.
func (f *Folded) setReader(e *end) {
	site, names := e.site, []string{e.site}
	if e.ways {
		names = []string{site + ".q", site + ".k", site + ".v"}
	}
	norms, own := f.after(names[0])
	if keys, ok := own.(linear.Mix); ok {
		e.count, e.size, e.values = keys.In, keys.Out, keys.Width
		e.weights = func() *mat.Dense { return foldedKeys(keys, norms) }
		e.keyed = newKeyed(keys, norms)
		if count, columns := f.featureWeights(site); columns != nil {
			e.keyed.weigh(count, func() *mat.Dense { return numerics.Transposed(columns()) })
			e.keyed.gram = func() *mat.Dense { return numerics.GramOfRows(columns()) }
		}
		return
	}
	if own != nil {
		f.setOwn(e, names)
		return
	}
	count, columns := f.featureWeights(site)
	if columns == nil {
		return
	}
	e.count, e.size = count, f.c.Width()
	if len(norms) > 0 {
		e.size, _ = norms.Sizes()
	}
	e.weights = func() *mat.Dense { return norms.Back(numerics.Transposed(columns())) }
	e.gram = func() *mat.Dense { return gramBack(norms, numerics.GramOfRows(columns())) }
}

// featureWeights returns the weights that read features F, and the number of their columns: the
// unembedding, or W1 and, if there is a gate, W3. For attention it returns nil.
func (f *Folded) featureWeights(site string) (count int, columns func() *mat.Dense) {
	p, gated := f.store.Param(f.parameter(site, "w1")), f.store.Param(f.parameter(site, "w3"))
	switch {
	case site == unembeddingSite:
		return f.c.Vocab, f.unembedding
	case p == nil:
		return 0, nil
	case gated == nil: // [F, N], or [experts, F, N]
		return p.Size() / f.c.Width(), func() *mat.Dense { return f.blockWeights(site) }
	}
	return (p.Size() + gated.Size()) / f.c.Width(), func() *mat.Dense { return f.gatedWeights(site) }
}

// setOwn finds the directions with which an attention reads: for queries, keys and values together
// or, if each reads differently, one below the other. They are not kept, because they may be large.
func (f *Folded) setOwn(e *end, names []string) {
	for _, name := range names {
		norms, own := f.after(name)
		size, count := own.Sizes()
		if len(norms) > 0 {
			size, _ = norms.Sizes()
		}
		e.size, e.count = size, e.count+count
	}
	e.weights = func() *mat.Dense {
		var all *mat.Dense
		for _, name := range names {
			norms, _ := f.after(name)
			all = numerics.Stacked(all, norms.Back(numerics.Transposed(f.ownMatrix(name))))
		}
		return all
	}
}

// ownMatrix returns the weights W_Q | W_K | W_V of an attention as they are, [D, W + 2 KV Dh].
func (f *Folded) ownMatrix(site string) *mat.Dense {
	_, own := f.after(site)
	w := own.(linear.Matrix)
	return mat.NewDense(w.In, w.Out, w.W)
}

// end returns the end where a site reads, or writes.
func (f *Folded) end(site string, reads bool) end { return f.ends[f.find(site, reads)] }

// find returns the number of that end; -1: there is none.
func (f *Folded) find(site string, reads bool) int {
	return slices.IndexFunc(f.ends, func(e end) bool { return e.site == site && e.reads == reads })
}

// foldedKeys returns reading keys [m, Dk] with the norm before them folded in, as far as one key
// for each read allows: r[d] * mean_v g[d, v]. It leaves out the norm's centring, which subtracts
// the same number from all Dk*Dv entries and is no map of key space.
func foldedKeys(w linear.Mix, norms linear.Chain) *mat.Dense {
	rows := keyRows(w)
	for _, m := range norms {
		norm, ok := m.(linear.Norm)
		if !ok {
			continue
		}
		mean := make([]float64, w.Out)
		for d := range mean {
			mean[d] = floats.Sum(share(norm.Gain, w.Out, d)) / float64(w.Width)
		}
		for i := range rows.RawMatrix().Rows {
			floats.Mul(rows.RawRowView(i), mean)
		}
	}
	return rows
}

// keyRows returns a copy of key vectors as rows [R, Dk].
func keyRows(w linear.Mix) *mat.Dense {
	return mat.DenseCopyOf(mat.NewDense(w.In, w.Out, w.Vectors))
}

// blockWeights returns W1 [F, N] of a feed-forward as it is, with F = D or R*Dv features and N
// neurons; the neurons of all experts follow each other.
func (f *Folded) blockWeights(site string) *mat.Dense {
	p, features := f.store.Param(f.parameter(site, "w1")), f.c.Width()
	if len(p.Shape) == 2 {
		return f.dense(p.Name, features)
	}
	experts, each := p.Shape[0], f.values(p.Name) // [experts, F, FF]
	ff := p.Shape[2]
	w1 := mat.NewDense(features, experts*ff, nil)
	for e := range experts {
		for i := range features {
			copy(w1.RawRowView(i)[e*ff:], share(share(each, experts, e), features, i))
		}
	}
	return w1
}

// gatedWeights returns W1 | W3 [F, 2N] of a feed-forward whose neurons have gates.
func (f *Folded) gatedWeights(site string) *mat.Dense {
	var both mat.Dense
	both.Augment(f.blockWeights(site), f.dense(f.parameter(site, "w3"), f.c.Width()))
	return &both
}

// unembedding returns W_unembed [F, V].
func (f *Folded) unembedding() *mat.Dense {
	return mat.NewDense(f.c.Features(), f.c.Vocab, f.model.UnembeddingWeights())
}
