package analysis

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// addGains multiplies the rows with which an attention reads queries, keys and values by the
// factors that the attention itself applies to them: QK-norm's gains, and a value residual's factor
// of the attention's own values.
func (f *Folded) addGains(e *end) {
	query, key := f.values(f.parameter(e.site, "q_norm")), f.values(f.parameter(e.site, "k_norm")) // [Dh]
	own, _ := f.valueFactors(f.sites[e.site].Block)
	if query == nil && own == 1 {
		return
	}
	heads, shared := f.c.HeadCount(), f.c.KVHeads()
	each := e.count / f.packedHeads() // rows a head
	scaled := func(w *mat.Dense, entry func(gain []float64, row int) float64) *mat.Dense {
		for i := range e.count {
			gain := own
			switch head := i / each; {
			case head < heads+shared && query == nil:
				gain = 1
			case head < heads:
				gain = entry(query, i%each)
			case head < heads+shared:
				gain = entry(key, i%each)
			}
			floats.Scale(gain, w.RawRowView(i))
		}
		return w
	}
	rows := e.weights
	if e.keyed == nil {
		e.weights = func() *mat.Dense { return scaled(rows(), func(gain []float64, row int) float64 { return gain[row] }) }
		return
	}
	e.weights = func() *mat.Dense { // a single key for all columns: with the mean of the gains
		return scaled(rows(), func(gain []float64, _ int) float64 { return floats.Sum(gain) / float64(len(gain)) })
	}
	columns := e.keyed.columns
	e.keyed.columns = func() []*mat.Dense {
		all := columns()
		for v := range all {
			all[v] = scaled(mat.DenseCopyOf(all[v]), func(gain []float64, _ int) float64 { return gain[v] })
		}
		return all
	}
}

// valueFactors returns the factors of v <- own v + first v_0, where v are the attention's own
// values and v_0 the first attention's: 1 and 0 without a value residual.
func (f *Folded) valueFactors(layer int) (own, first float64) {
	switch learned := f.values(f.parameter(siteName(layer, stream.Attention), "value_residual")); {
	case layer == 0 || f.c.Attention.ValueResidual == "":
		return 1, 0
	case learned != nil:
		return learned[0], learned[1]
	}
	return 0.5, 0.5
}

// ownMap splits the map of a writer into two: own, its first part, by which the writer's
// weights can be multiplied because it is the same for all tokens (LayerScale's gains, or a map
// up from a latent), and the rest. own is nil if there is no such part.
func ownMap(up linear.Map) (rest linear.Map, own linear.Chain) {
	switch m := up.(type) {
	case linear.Matrix:
		return linear.Identity(m.Out), linear.Chain{m}
	case linear.Chain:
		if len(m) == 0 {
			break
		}
		if scale, ok := m[0].(linear.Norm); ok && !scale.Centre {
			return m[1:], m[:1]
		}
	}
	return up, nil
}
