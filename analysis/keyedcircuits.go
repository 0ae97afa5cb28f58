package analysis

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/stream"
)

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
	return keyedHead{[]*mat.Dense{numerics.Transposed(w.Q)}, []*mat.Dense{numerics.Transposed(w.K)}, []*mat.Dense{numerics.Transposed(w.V)}, []*mat.Dense{w.O}, false}
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
