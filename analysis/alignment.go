package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/stream/linear"
)

// directions are an end's rows [count, size], or, where its one part has more rows than the
// space has dimensions, their Gram matrix.
type directions struct {
	end
	rows, gram *mat.Dense
	norms      []float64  // Frobenius, of each part
	packed     *mat.Dense // see pack
	spreads    []spread   // of each part, once asked for
}

// directionsOf reads an end's weights.
func directionsOf(e end) *directions {
	d := &directions{end: e}
	if len(e.parts) == 1 && e.count > e.size {
		d.gram = e.wholeGram()
		d.norms = []float64{math.Sqrt(max(0, mat.Trace(d.gram)))}
		return d
	}
	d.rows = e.weights()
	for i := range e.parts {
		d.norms = append(d.norms, mat.Norm(d.part(d.rows, i), 2))
	}
	return d
}

// partGram is the Gram matrix [size, size] of a part's rows.
func (d *directions) partGram(i int) *mat.Dense {
	if d.rows == nil {
		return d.gram
	}
	return gramOfColumns(d.part(d.rows, i))
}

// part is a part's share of an end's rows.
func (e end) part(rows *mat.Dense, i int) *mat.Dense {
	n := e.count / len(e.parts)
	return rows.Slice(i*n, (i+1)*n, 0, rows.RawMatrix().Cols).(*mat.Dense)
}

// back are the directions y in front of M, whose rows are y M^T.
func (d *directions) back(m linear.Chain) *directions {
	to := &directions{end: d.end}
	if d.rows != nil {
		to.rows = m.Back(d.rows)
	} else {
		to.gram = gramBack(m, d.gram)
	}
	for i := range d.parts {
		to.norms = append(to.norms, math.Sqrt(max(0, mat.Trace(to.partGram(i)))))
	}
	return to
}

// spread is a part's, in so many dimensions.
func (d *directions) spread(part, size int) spread {
	for i := len(d.spreads); i <= part; i++ {
		packed := d.pack().RawRowView(i)
		d.spreads = append(d.spreads, spreadOfVectors(size, d.norms[i]*d.norms[i], floats.Dot(packed, packed)))
	}
	return d.spreads[part]
}

// pack holds the Gram matrices G of all parts as vectors of their upper triangles, entries off
// the diagonal times sqrt(2): their inner products are those of the matrices,
//
//	||A B^T||^2 = tr(A^T A B^T B) = sum over entries of G_A G_B
//
// [parts, size (size + 1) / 2].
func (d *directions) pack() *mat.Dense {
	if d.packed != nil {
		return d.packed
	}
	for i := range d.parts {
		g := d.partGram(i)
		n, _ := g.Dims()
		if d.packed == nil {
			d.packed = mat.NewDense(len(d.parts), n*(n+1)/2, nil)
		}
		to := d.packed.RawRowView(i)
		for r := range n {
			to[0] = g.At(r, r)
			floats.ScaleTo(to[1:n-r], math.Sqrt2, g.RawRowView(r)[r+1:])
			to = to[n-r:]
		}
	}
	return d.packed
}

// productNorms are ||A_i M B_j^T|| of the parts of two ends.
func productNorms(a, b *directions, m linear.Chain) *mat.Dense {
	scale, scalar := m.Number()
	if !scalar {
		b = b.back(m)
	}
	squares := times(a.pack(), b.pack().T())
	squares.Apply(func(_, _ int, square float64) float64 { return math.Abs(scale) * math.Sqrt(max(0, square)) }, squares)
	return squares
}

// Alignment is how much of what is written at one place is read at another: of the weights
// W_out [n, D], rows along which the first writes, W_in [D, m], columns with which the second
// reads, and M, what becomes of a write on its way there (see VirtualWeights).
type Alignment struct {
	// Norm is ||W_out M W_in||, of the virtual weights, Frobenius.
	Norm float64 `json:"norm"`
	// Strength is Norm / (||W_out|| ||W_in||); of one key with another |cos| where M = I.
	Strength float64 `json:"strength"`
	// Carry is ||M|| / sqrt(D), how large a write arrives: 1 where M = I.
	Carry float64 `json:"carry"`
	// Score is Strength / Carry, how well the two directions agree.
	Score float64 `json:"score"`
	// Chance is that of weights that know nothing of each other.
	Chance Chance `json:"chance"`
	// P is the probability of such a score, or a larger one, by chance; 1 where a weight is 0.
	P float64 `json:"p"`
}

// align compares parts of two ends, whose product has a norm.
func align(norm, out, in, carry float64, chance Chance) Alignment {
	a := Alignment{Norm: norm, Carry: carry, Chance: chance, P: 1}
	if out == 0 || in == 0 || carry == 0 {
		return a
	}
	a.Strength = norm / (out * in)
	a.Score = a.Strength / carry
	a.P = chance.P(a.Score)
	return a
}

// AboveChance is how many times the score of random weights, its root mean square, the score is.
func (a Alignment) AboveChance() float64 { return ratioOf(a.Score, a.Chance.RMS()) }
