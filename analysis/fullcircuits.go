package analysis

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/stream"
)

// vocabulary holds the products over the vocabulary, which all full circuits share.
type vocabulary struct {
	f       *Folded
	through *mat.Dense // W_unembed W_E [F, E]: E the width of the table's rows, F of the features
	embed   *mat.Dense // W_E^T W_E [E, E]
	unembed *mat.Dense // W_unembed W_unembed^T [F, F]
}

func newVocabulary(f *Folded) *vocabulary {
	table := f.table(f.model.Writers()[0]) // [V, E]
	embed := numerics.GramOfColumns(table)
	v := &vocabulary{f, embed, embed, embed}
	if !f.c.TieEmbeddings || f.c.MuP != nil {
		unembedding := f.unembedding() // [F, V]
		v.through, v.unembed = numerics.Mul(unembedding, table), numerics.GramOfRows(unembedding)
	}
	return v
}

// add adds a head's full circuits.
func (v *vocabulary) add(h *HeadCircuits, w HeadWeights) error {
	eq, ek, ev, ou := v.ways(w, nil) // [E, Dh], [Dh, F]
	ov, qk := v.products(eq, ek, ev, ou)
	small := func(x mat.Matrix, g *mat.Dense) *mat.Dense { return numerics.Mul(x.T(), g, x) }
	ovNorm := rootTrace(small(ev, v.embed), small(ou.T(), v.unembed))
	qkNorm := rootTrace(small(eq, v.embed), small(ek, v.embed))
	fullOV, err := circuitSpectrum(ov, ovNorm)
	if err != nil {
		return err
	}
	fullQK, err := circuitSpectrum(qk, qkNorm)
	h.FullOV, h.FullQK = &fullOV, &fullQK
	return err
}

// products returns the small matrices [Dh, Dh] that have the eigenvalues of full OV and full QK.
func (v *vocabulary) products(eq, ek, ev, ou *mat.Dense) (ov, qk *mat.Dense) {
	return numerics.Mul(ou, v.through, ev), numerics.Mul(ek.T(), v.embed, eq)
}

// ways returns M W_Q, M W_K and M W_V, with M from the embedding to a head's queries, keys and
// values, and W_O M' P, with M' from the head to the features and P the final norm. With draw, the
// head's weights are first rotated at random.
func (v *vocabulary) ways(w HeadWeights, draw *rand.Rand) (eq, ek, ev, ou *mat.Dense) {
	if v.f.ends[0].keyed != nil {
		return v.keyedWays(w, draw)
	}
	if draw != nil {
		w = w.rotated(draw)
	}
	in := func(layer int, via string, weights *mat.Dense) *mat.Dense {
		m := v.f.carry.between(v.f.ends[0], end{source: v.f.sourceOf(siteName(layer, stream.Attention), via)})
		return numerics.Transposed(m.Back(numerics.Transposed(weights)))
	}
	eq, ek, ev = in(w.Layer, "q", w.Q), in(w.Layer, "k", w.K), in(w.Layer, "v", w.V)
	if w.First != nil {
		ev.Add(ev, in(0, "v", w.First))
	}
	out := v.f.carry.between(v.f.end(siteName(w.Layer, stream.Attention), false), end{source: unembeddingSite})
	norms, _ := v.f.after(unembeddingSite)
	return eq, ek, ev, norms.Rows(out.Rows(w.O))
}

// rootTrace returns sqrt(tr(G H)), which is the norm ||A B|| for G = A^T A and H = B B^T.
func rootTrace(g, h *mat.Dense) float64 { return math.Sqrt(max(0, mat.Trace(numerics.Mul(g, h)))) }

// keyedHead holds the keys [1, Dk] of a matrix stream's head for each column, with the norm's gains
// in those that read; for a stream of vectors it has one column, the rows [Dh, D] of the head's
// weights.
type keyedHead struct {
	q, k, v, o []*mat.Dense
	centred    bool
}

// headKeys returns the keys of a head.
func (f *Folded) headKeys(w HeadWeights) keyedHead {
	if w.Values > 1 {
		return f.keyedHead(siteName(w.Layer, stream.Attention), w.Head)
	}
	return keyedHead{[]*mat.Dense{numerics.Transposed(w.Q)}, []*mat.Dense{numerics.Transposed(w.K)}, []*mat.Dense{numerics.Transposed(w.V)}, []*mat.Dense{w.O},
		false}
}

// keyedHead takes a head's keys from those of its site.
func (f *Folded) keyedHead(site string, head int) keyedHead {
	read, write := f.end(site, true).keyed, f.end(site, false).keyed
	key := func(part int) []*mat.Dense {
		return read.taken(func(rows *mat.Dense) *mat.Dense { return f.headRows(rows, part, head) }).columns()
	}
	written := write.taken(func(rows *mat.Dense) *mat.Dense {
		return rows.Slice(head, head+1, 0, rows.RawMatrix().Cols).(*mat.Dense)
	})
	return keyedHead{key(0), key(1), key(2), written.columns(), read.centred}
}

// circuits returns a head's own circuits, from matrices Dv x Dv, or Dh x Dh.
func (k keyedHead) circuits(w HeadWeights) (h HeadCircuits, err error) {
	h.Layer, h.Head = w.Layer, w.Head
	square := func(columns []*mat.Dense, centred bool) *mat.Dense { return linked(columns, columns, centred) }
	if h.OV, err = circuitSpectrum(linked(k.o, k.v, k.centred), rootTrace(square(k.v, k.centred), square(k.o, false))); err != nil {
		return h, err
	}
	h.QK, err = circuitSpectrum(linked(k.k, k.q, k.centred), rootTrace(square(k.q, k.centred), square(k.k, k.centred)))
	return h, err
}

// keyedWays returns the ways of a head's full circuits through a matrix stream: from the
// embedding's rows to its queries, keys and values, each [R*Dv, Dv], and from its outputs to the
// features [Dv, R*Dv]; with draw, of its keys rotated at random.
func (v *vocabulary) keyedWays(w HeadWeights, draw *rand.Rand) (eq, ek, ev, ou *mat.Dense) {
	f := v.f
	embedding, features := f.ends[0].keyed.columns(), f.end(unembeddingSite, true).keyed
	head := f.keyedHead(siteName(w.Layer, stream.Attention), w.Head).rotated(draw)
	eq, ek, ev = linked(embedding, head.q, head.centred), linked(embedding, head.k, head.centred), linked(embedding, head.v, head.centred)
	if _, factor := f.valueFactors(w.Layer); factor != 0 {
		first := f.keyedHead(siteName(0, stream.Attention), w.Head).rotated(draw)
		way := linked(embedding, first.v, first.centred)
		floats.AddScaled(ev.RawMatrix().Data, factor, way.RawMatrix().Data)
	}
	return eq, ek, ev, linked(head.o, features.columns(), features.centred)
}
