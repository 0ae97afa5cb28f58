package analysis

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/stream/linear"
)

// keyed is an end of a matrix stream X [Dk, Dv] with its values, not only its keys. The directions
// that a site writes, or reads with, are the rows of W (K ⊗ I), with keys K [R, Dk] and weights W
// [n, R*Dv] for values: W_E or W2 for writers, W1^T or W_U^T for readers, and no W for heads. If a
// norm with gains g [Dk, Dv] comes before the keys, each column v of X is read by its own keys, r_h
// ⊙ g[:, v].
type keyed struct {
	columns func() []*mat.Dense // the keys [R, Dk] of each column of X
	centred bool                // the mean over all Dk*Dv entries is subtracted before reading: a LayerNorm
	rows    int                 // n
	weights func() *mat.Dense   // W [n, R*Dv]; nil: none
	gram    func() *mat.Dense   // W^T W [R*Dv, R*Dv]
}

// newKeyed returns an end with these keys and no weights for values.
func newKeyed(keys linear.Mix, norms linear.Chain) *keyed {
	k := &keyed{columns: func() []*mat.Dense { return gainedKeys(keys, norms) }}
	for _, m := range norms {
		if norm, ok := m.(linear.Norm); ok && norm.Centre {
			k.centred = true
		}
	}
	return k
}

// weigh gives an end its weights for values, which have the given number of rows.
func (k *keyed) weigh(rows int, weights func() *mat.Dense) {
	k.rows, k.weights, k.gram = rows, weights, func() *mat.Dense { return numerics.GramOfColumns(weights()) }
}

// gainedKeys returns, for each column of X, the keys times the gains of the norms in front of them.
func gainedKeys(keys linear.Mix, norms linear.Chain) []*mat.Dense {
	columns := slices.Repeat([]*mat.Dense{keyRows(keys)}, keys.Width)
	for _, m := range norms {
		norm, ok := m.(linear.Norm)
		if !ok {
			continue
		}
		for v := range columns {
			gained := mat.DenseCopyOf(columns[v])
			gained.Apply(func(_, d int, key float64) float64 { return key * norm.Gain[d*keys.Width+v] }, gained)
			columns[v] = gained
		}
	}
	return columns
}

// taken returns an end that keeps the key rows that choose picks.
func (k *keyed) taken(choose func(rows *mat.Dense) *mat.Dense) *keyed {
	chosen := *k
	chosen.columns = func() []*mat.Dense {
		columns := slices.Clone(k.columns())
		for v, rows := range columns {
			columns[v] = choose(rows)
		}
		return columns
	}
	return &chosen
}

// linked returns (K_a ⊗ I) C (K_b ⊗ I)^T [Ra*Dv, Rb*Dv]: what b's keys read of what a's keys write.
// C subtracts the mean if centred:
//
//	entry (g, v), (h, w) = [v = w] a_v[g] . b_v[h] - sum(a_v[g]) sum(b_w[h]) / (Dk Dv)
func linked(a, b []*mat.Dense, centred bool) *mat.Dense {
	dv := len(a)
	ra, dk := a[0].Dims()
	rb, _ := b[0].Dims()
	if dv == 1 && !centred {
		return numerics.Mul(a[0], b[0].T())
	}
	m := mat.NewDense(ra*dv, rb*dv, nil)
	for v := range dv {
		products := numerics.Mul(a[v], b[v].T())
		for g := range ra {
			for h := range rb {
				m.Set(g*dv+v, h*dv+v, products.At(g, h))
			}
		}
	}
	if centred {
		m.RankOne(m, -1/float64(dk*dv), sumsOf(a), sumsOf(b))
	}
	return m
}

// sumsOf returns the sums of the keys of all columns: entry (h, v) of [R*Dv].
func sumsOf(columns []*mat.Dense) *mat.VecDense {
	dv := len(columns)
	rows, _ := columns[0].Dims()
	sums := mat.NewVecDense(rows*dv, nil)
	for v, keys := range columns {
		for h := range rows {
			sums.SetVec(h*dv+v, floats.Sum(keys.RawRowView(h)))
		}
	}
	return sums
}
