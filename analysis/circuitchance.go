package analysis

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
)

// addChance sets the chance of the full circuits' scores of a layer's heads, which were added last.
// It draws heads rotated at random, taking the layer's in turn; each draw has its own random
// numbers.
func (c *Circuits) addChance(ctx context.Context, f *Folded, v *vocabulary, layer int, o CircuitOptions) error {
	heads, copying, matching := f.layerHeads(layer), make([]float64, o.Draws), make([]float64, o.Draws)
	err := numerics.Concurrently(ctx, o.Draws, func(i int) error {
		draw := rand.New(rand.NewPCG(o.Seed, uint64(layer)<<32|uint64(i)))
		ov, qk := v.products(v.ways(heads[i%len(heads)], draw))
		var err error
		if copying[i], err = scoreOf(ov); err != nil {
			return err
		}
		matching[i], err = scoreOf(qk)
		return err
	})
	for i := range heads {
		h := &c.Heads[len(c.Heads)-len(heads)+i]
		h.FullOV.Chance, h.FullQK.Chance = chanceOfScore(h.FullOV.Score, copying), chanceOfScore(h.FullQK.Score, matching)
	}
	return err
}

// scoreOf returns the score of a circuit that has a matrix's eigenvalues.
func scoreOf(small *mat.Dense) (float64, error) {
	s, err := circuitSpectrum(small, 0)
	return s.Score, err
}

// rotated returns weights with the same singular values whose reading and writing directions are
// random, independently of each other.
func (h HeadWeights) rotated(draw *rand.Rand) HeadWeights {
	h.Q, h.K, h.V = rotatedColumns(h.Q, draw), rotatedColumns(h.K, draw), rotatedColumns(h.V, draw)
	h.O = numerics.Transposed(rotatedColumns(h.O.T(), draw))
	if h.First != nil {
		h.First = rotatedColumns(h.First, draw)
	}
	return h
}

// rotatedColumns returns O w, with O [D, D] drawn uniformly among the orthogonal matrices. It
// multiplies random orthonormal columns by R, where w = Q R.
func rotatedColumns(w mat.Matrix, draw *rand.Rand) *mat.Dense {
	r := numerics.Triangle(w)
	k, _ := r.Dims()
	d, _ := w.Dims()
	return numerics.Mul(numerics.OrthonormalRows(draw, k, d).T(), r)
}

// rotated returns a head's keys, each rotated at random, with the same rotation in all columns;
// without random numbers the keys stay as they are.
func (k keyedHead) rotated(draw *rand.Rand) keyedHead {
	if draw == nil {
		return k
	}
	turn := func(columns []*mat.Dense) []*mat.Dense {
		_, dk := columns[0].Dims()
		rotation := numerics.OrthonormalVectors(draw, dk, dk)
		turned := make([]*mat.Dense, len(columns))
		for v := range columns {
			turned[v] = numerics.Mul(columns[v], rotation)
		}
		return turned
	}
	return keyedHead{turn(k.q), turn(k.k), turn(k.v), turn(k.o), k.centred}
}
