package analysis

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream"
	"github.com/residua-go/residua/stream/linear"
)

// addGains multiplies the rows with which an attention reads, of queries, keys and values, by what the
// attention itself multiplies these by: QK-norm's gains, and the factor that a value residual has for the
// attention's own values.
func (f *Folded) addGains(e *end) {
	query, key := f.values(e.site+".q_norm"), f.values(e.site+".k_norm") // [Dh]
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
	e.weights = func() *mat.Dense { // one key for all entries
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

// valueFactors are those of an attention's own values and of the first attention's, v <- own v + first v_0: 1 and 0
// but for a value residual.
func (f *Folded) valueFactors(layer int) (own, first float64) {
	switch learned := f.values(siteName(layer, stream.Attention) + ".value_residual"); {
	case layer == 0 || f.c.Attention.ValueResidual == "":
		return 1, 0
	case learned != nil:
		return learned[0], learned[1]
	}
	return 0.5, 0.5
}

// scaleOf splits off the gains that multiply what a writer writes, LayerScale's: the rest of its map, and the gains; nil
// without.
func scaleOf(up linear.Map) (rest linear.Map, gain []float64) {
	chain, ok := up.(linear.Chain)
	if !ok || len(chain) == 0 {
		return up, nil
	}
	scale, ok := chain[0].(linear.Norm)
	if !ok || scale.Centre {
		return up, nil
	}
	return chain[1:], scale.Gain
}

// scaledColumns are w diag(gain), in w's own memory; without a gain w.
func scaledColumns(w *mat.Dense, gain []float64) *mat.Dense {
	if gain != nil {
		for i := range w.RawMatrix().Rows {
			floats.Mul(w.RawRowView(i), gain)
		}
	}
	return w
}
