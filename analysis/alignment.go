package analysis

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/residua-go/residua/analysis/numerics"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream/linear"
)

// Alignment says how much of what is written at one place is read at another. It is computed from
// the weights W_out [n, D], whose rows are the directions that the first place writes, the weights
// W_in [D, m], whose columns are the directions that the second reads, and M, the map that the
// stream applies to a write on its way (see VirtualWeights).
type Alignment struct {
	// Norm is the Frobenius norm ||W_out M W_in|| of the virtual weights.
	Norm float64 `json:"norm"`
	// Strength is Norm / (||W_out|| ||W_in||); for two keys with M = I it is |cos|.
	Strength float64 `json:"strength"`
	// Carry is ||M|| / sqrt(D): how large a write arrives, 1 if M = I.
	Carry float64 `json:"carry"`
	// Score is Strength / Carry, how well the two directions agree.
	Score float64 `json:"score"`
	// Chance is the distribution of the score for unrelated weights.
	Chance Chance `json:"chance"`
	// P is the probability of at least this score by chance; 1 if a weight is 0.
	P float64 `json:"p"`
}

// AboveChance is the score divided by the root mean square of the scores of random weights.
func (a Alignment) AboveChance() float64 { return numerics.Ratio(a.Score, a.Chance.rms()) }

// align returns the Alignment of each part of the writer w with each part of the reader r,
// [writer's part][reader's part].
func (c *carrier) align(w, r *directions) ([][]Alignment, error) {
	maps := c.between(w.end, r.end)
	from := r // what the reader reads, pulled back through M
	scale, scalar := maps.Number()
	switch {
	case !scalar && r.keyed != nil:
		return nil, check.Value("wiring: "+w.name(0)+" to "+r.name(0), "a stream that keeps its keys as they are", "one that mixes them")
	case !scalar:
		from = r.back(maps)
	}
	d, squares := w.dimensions(), products(w, from)
	carry := maps.Gain(d.keys)
	all := make([][]Alignment, len(w.parts))
	for i, out := range w.norms {
		for j, in := range r.norms {
			a := Alignment{Norm: math.Abs(scale) * math.Sqrt(max(0, squares.At(i, j))), Carry: carry, P: 1}
			arriving := scale * from.norms[j] / carry
			a.Chance = chanceOf(d, w.spreads[i], from.spreads[j], numerics.Ratio(arriving*arriving, in*in))
			if out > 0 && in > 0 && carry > 0 {
				a.Strength = a.Norm / (out * in)
				a.Score = a.Strength / carry
				a.P = a.Chance.P(a.Score)
			}
			all[i] = append(all[i], a)
		}
	}
	return all, nil
}

// directions holds the directions W X along which an end writes or reads. W are weights. The rows
// of X lie in the stream's space: they are the keys of each column in a matrix stream; a stream of
// vectors has one column, and X holds the directions themselves.
type directions struct {
	end
	columns []*mat.Dense // [R, Dk] of each column; nil: X = I
	gram    *mat.Dense   // W^T W [R*Dv, R*Dv]; nil: I
	norms   []float64    // Frobenius norm of each part, without the mean that a reader's LayerNorm subtracts
	spreads []spread     // of each part
}

// directionsOf returns the directions of an end. If its only part has more rows than the stream
// has dimensions, it holds their Gram matrix instead of the rows.
func directionsOf(e end) *directions {
	d := &directions{end: e}
	switch {
	case e.keyed != nil:
		d.columns = e.keyed.columns()
		if e.keyed.weights != nil {
			d.gram = e.keyed.gram()
		}
	case len(e.parts) == 1 && e.count > e.size:
		d.gram = e.wholeGram()
	default:
		d.columns = []*mat.Dense{e.weights()}
	}
	d.spread()
	return d
}

// back pulls directions of a stream of vectors back to where M begins: each row y becomes y
// M^T.
func (d *directions) back(m linear.Chain) *directions {
	to := &directions{end: d.end}
	if d.columns != nil {
		to.columns = []*mat.Dense{m.Back(d.columns[0])}
	} else {
		to.gram = gramBack(m, d.gram)
	}
	to.spread()
	return to
}

// dimensions returns Dk and Dv, or D and 1.
func (d *directions) dimensions() dimensions {
	if d.columns == nil {
		return dimensions{d.gram.RawMatrix().Rows, 1}
	}
	return dimensions{d.columns[0].RawMatrix().Cols, len(d.columns)}
}

// spread computes norms and spreads, by blocks of each part's Gram matrix. It ignores that
// subtracting a mean removes one of the Dk*Dv dimensions.
func (d *directions) spread() {
	n := d.dimensions()
	for part := range d.parts {
		keys, values := mat.NewDense(n.keys, n.keys, nil), mat.NewDense(n.values, n.values, nil)
		square, swapped, sum := 0.0, 0.0, 0.0
		for v := range n.values {
			for w := v; w < n.values; w++ {
				block := d.block(part, v, w)
				if block == nil {
					continue
				}
				own := numerics.Dot(block, block)
				if v == w { // symmetric
					keys.Add(keys, block)
					square, swapped, sum = square+own, swapped+own, sum+mat.Sum(block)
				} else { // counts the block (w, v), its transpose, too
					square, swapped, sum = square+2*own, swapped+2*numerics.Dot(block, numerics.Transposed(block)), sum+2*mat.Sum(block)
				}
				values.Set(v, w, mat.Trace(block))
				values.Set(w, v, mat.Trace(block))
			}
		}
		trace := mat.Trace(keys)
		d.spreads = append(d.spreads, spreadOf(n, trace, square, swapped, numerics.Dot(keys, keys), numerics.Dot(values, values)))
		if d.keyed != nil && d.keyed.centred {
			trace -= sum / float64(n.keys*n.values)
		}
		d.norms = append(d.norms, math.Sqrt(max(0, trace)))
	}
}

// block returns G_vw [Dk, Dk], the block of a part's Gram matrix X^T W^T W X that belongs to
// the columns v and w; nil stands for 0.
func (d *directions) block(part, v, w int) *mat.Dense {
	switch {
	case d.columns == nil:
		return d.gram
	case d.gram == nil && v != w:
		return nil
	case d.gram == nil:
		return numerics.GramOfColumns(d.part(d.columns[v], part))
	}
	rows := d.columns[v].RawMatrix().Rows
	of := mat.NewDense(rows, rows, nil)
	of.Apply(func(g, h int, _ float64) float64 { return d.gram.At(g*len(d.columns)+v, h*len(d.columns)+w) }, of)
	return numerics.Mul(d.columns[v].T(), of, d.columns[w])
}

// products returns |W_out W_in|^2 for all parts of two ends. With L = X_out C X_in^T, where C
// subtracts a mean if the reader does, these are the sums of the entries of (W_out^T W_out L) ⊙ (L
// W_in W_in^T).
func products(w, r *directions) *mat.Dense {
	var link *mat.Dense
	switch {
	case r.columns == nil && w.columns != nil:
		link = w.columns[0]
	case w.columns == nil && r.columns != nil:
		link = numerics.Transposed(r.columns[0])
	case w.columns != nil:
		link = linked(w.columns, r.columns, r.keyed != nil && r.keyed.centred)
	}
	left, right := product(w.gram, link), product(link, r.gram)
	n, m := left.Dims()
	n, m = n/len(w.parts), m/len(r.parts)
	squares := mat.NewDense(len(w.parts), len(r.parts), nil)
	squares.Apply(func(i, j int, _ float64) float64 {
		part := func(of *mat.Dense) *mat.Dense { return of.Slice(i*n, (i+1)*n, j*m, (j+1)*m).(*mat.Dense) }
		return numerics.Dot(part(left), part(right))
	}, squares)
	return squares
}

// product returns a b, where nil stands for I.
func product(a, b *mat.Dense) *mat.Dense {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return numerics.Mul(a, b)
}
