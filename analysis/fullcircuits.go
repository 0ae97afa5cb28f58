package analysis

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
)

// vocabulary is what all full circuits share: products over the vocabulary.
type vocabulary struct {
	f       *Folded
	carry   *carrier
	leave   rowMaps    // P, from the end of the stream to the features
	through *mat.Dense // W_unembed W_E [F, E]: E the width of the table's rows, F of the features
	embed   *mat.Dense // W_E^T W_E [E, E]
	unembed *mat.Dense // W_unembed W_unembed^T [F, F]
}

func newVocabulary(f *Folded, carry *carrier) *vocabulary {
	table := f.table(embeddingSite) // [V, E]
	embed := gramOfColumns(table)
	v := &vocabulary{f, carry, f.leave(), embed, embed, embed}
	if !f.c.TieEmbeddings || f.c.MuP != nil {
		unembedding := f.unembedding() // [F, V]
		v.through, v.unembed = &mat.Dense{}, gramOfRows(unembedding)
		v.through.Mul(unembedding, table)
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
	ev := values(in.columns(w.V))                                  // M W_V [E, Dh]
	eq, ek := values(in.columns(w.Q)), values(in.columns(w.K))     // [E, Dh]
	ou := values(v.leave.rows(out.rows(w.O)))                      // W_O M' P [Dh, F], W_U = P W_unembed
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

// ways are M from the embedding to a layer's heads and M' from there to the end.
func (v *vocabulary) ways(layer int) (in, out rowMaps, err error) {
	if v.f.isMatrix() {
		return rowMaps{matrixRows{v.f.keys("write_embedding")}}, nil, nil // [R, Dk]
	}
	site := end{site: siteName(layer, stream.Attention), at: attentionAt(layer)}
	if in, err = v.carry.between(v.f.tableEnds()[0], site); err != nil {
		return nil, nil, err
	}
	out, err = v.carry.between(site, v.f.unembeddingEnd(v.leave))
	return in, out, err
}

// widen is w (x) I_n: keys [., 1] or [1, .] become what they do to all values.
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
