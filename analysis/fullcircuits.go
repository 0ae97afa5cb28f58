package analysis

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// vocabulary is what all full circuits share: products over the vocabulary.
type vocabulary struct {
	f       *Folded
	carry   *carrier
	leave   linear.Chain // P, from the end of the stream to the features
	through *mat.Dense   // W_unembed W_E [F, E]: E the width of the table's rows, F of the features
	embed   *mat.Dense   // W_E^T W_E [E, E]
	unembed *mat.Dense   // W_unembed W_unembed^T [F, F]
}

func newVocabulary(f *Folded, carry *carrier) *vocabulary {
	table := f.table(f.model.Writers()[0]) // [V, E]
	embed := gramOfColumns(table)
	v := &vocabulary{f, carry, f.leave(), embed, embed, embed}
	if !f.c.TieEmbeddings || f.c.MuP != nil {
		unembedding := f.unembedding() // [F, V]
		v.through, v.unembed = times(unembedding, table), gramOfRows(unembedding)
	}
	return v
}

// add adds a head's full circuits.
func (v *vocabulary) add(h *HeadCircuits, w HeadWeights) error {
	in, out, err := v.ways(w.Layer)
	if err != nil {
		return err
	}
	values := func(m *mat.Dense) *mat.Dense { return v.widen(m, w.Values) }
	back := func(in linear.Chain, w *mat.Dense) *mat.Dense { // M W
		return values(mat.DenseCopyOf(in.Back(mat.DenseCopyOf(w.T())).T()))
	}
	eq, ek, ev := back(in[0], w.Q), back(in[1], w.K), back(in[2], w.V) // [E, Dh]
	if w.First != nil {
		first, _, err := v.ways(0)
		if err != nil {
			return err
		}
		ev.Add(ev, back(first[2], w.First))
	}
	ou := values(v.leave.Rows(out.Rows(w.O)))                      // W_O M' P [Dh, F], W_U = P W_unembed
	ov, qk := times(ou, v.through, ev), times(ek.T(), v.embed, eq) // [Dh, Dh]
	small := func(x mat.Matrix, g *mat.Dense) *mat.Dense { return times(x.T(), g, x) }
	ovNorm := rootTrace(small(ev, v.embed), small(ou.T(), v.unembed))
	qkNorm := rootTrace(small(eq, v.embed), small(ek, v.embed))
	fullOV, err := circuitSpectrum(ov, ovNorm, 1)
	if err != nil {
		return err
	}
	fullQK, err := circuitSpectrum(qk, qkNorm, 1)
	h.FullOV, h.FullQK = &fullOV, &fullQK
	return err
}

// ways are M from the embedding to the queries, keys and values of a layer's heads, with the keys
// that store it if there are any, and M' from there to the end.
func (v *vocabulary) ways(layer int) (in [3]linear.Chain, out linear.Chain, err error) {
	site, embedding := siteName(layer, stream.Attention), v.f.ends[0]
	for i, via := range attentionReads {
		if in[i], err = v.carry.between(embedding, end{source: v.f.sourceOf(site, via)}); err != nil {
			return in, nil, err
		}
		if embedding.values > 1 {
			keys := embedding.weights().RawMatrix() // [R, Dk]
			in[i] = append(linear.Chain{linear.Matrix{W: keys.Data, In: keys.Rows, Out: keys.Cols}}, in[i]...)
		}
	}
	out, err = v.carry.between(v.f.end(site, false), end{source: unembeddingSite})
	return in, out, err
}

// widen is w ⊗ I_n: keys [., 1] or [1, .] become what they do to all values.
func (v *vocabulary) widen(w *mat.Dense, n int) *mat.Dense {
	if n == 1 {
		return w
	}
	var wide mat.Dense
	wide.Kronecker(w, identityMatrix(n))
	return &wide
}

// rootTrace is sqrt(tr(G H)), the norm ||A B|| for G = A^T A and H = B B^T.
func rootTrace(g, h *mat.Dense) float64 { return math.Sqrt(max(0, mat.Trace(times(g, h)))) }
