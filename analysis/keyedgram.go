package analysis

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// keyedDirections are an end of a matrix stream whose Gram matrix G = (K ⊗ I)^T W^T W (K ⊗ I) [Dk*Dv, Dk*Dv] is looked at in
// blocks G_vw [Dk, Dk], one for each pair of columns. A head has no W: its blocks are 0 but for v = w.
type keyedDirections struct {
	end
	columns []*mat.Dense // keys of each column [R, Dk]
	gram    *mat.Dense   // W^T W [Dv*R, Dv*R], column by column; nil: I
	sums    []partSums   // of each part
	norms   []float64    // Frobenius, of each part: of what is read after the mean is taken away
	spreads []spread     // of each part
}

// partSums are sums over a part's blocks.
type partSums struct {
	row        []*mat.VecDense // c_v: G 1, of each column [Dk]
	all        float64         // 1^T G 1
	diagonal   []*mat.Dense    // G_vv, of each column; of ends with weights
	keys       *mat.Dense      // sum over v of G_vv [Dk, Dk]
	values     *mat.Dense      // tr G_vw [Dv, Dv]
	square     float64         // |G|^2
	transposed float64         // sum over v and w of tr(G_vw G_vw)
}

// keyedDirectionsOf reads an end. The sums of an end with weights are not made yet: see addBlock.
func keyedDirectionsOf(e end) *keyedDirections {
	k := &keyedDirections{end: e, columns: e.keyed.columns()}
	dv := len(k.columns)
	if k.keyed.weights != nil {
		k.gram = byColumns(k.keyed.gram(), dv)
		k.sums = []partSums{k.newSums(k.columns)}
		return k
	}
	for p := range e.parts {
		part := make([]*mat.Dense, dv)
		for v, keys := range k.columns {
			part[v] = e.part(keys, p)
		}
		s := k.newSums(part)
		for v, keys := range part {
			s.add(v, v, times(keys.T(), keys))
		}
		s.diagonal = nil
		k.sums = append(k.sums, s)
	}
	k.finish()
	return k
}

// byColumns is a Gram matrix of entries (h, v) as one of entries (v, h).
func byColumns(gram *mat.Dense, dv int) *mat.Dense {
	n, _ := gram.Dims()
	r := n / dv
	to := mat.NewDense(n, n, nil)
	for i := range n {
		row, from := to.RawRowView(i), gram.RawRowView(i%r*dv+i/r)
		for j := range row {
			row[j] = from[j%r*dv+j/r]
		}
	}
	return to
}

// newSums are the sums that no block is needed for, of the keys of a part.
func (k *keyedDirections) newSums(columns []*mat.Dense) partSums {
	dv := len(columns)
	r, dk := columns[0].Dims()
	t := mat.NewVecDense(r*dv, nil) // K 1
	for v, keys := range columns {
		for h := range r {
			t.SetVec(v*r+h, floats.Sum(keys.RawRowView(h)))
		}
	}
	q := t
	if k.gram != nil {
		q = mat.NewVecDense(r*dv, nil)
		q.MulVec(k.gram, t)
	}
	s := partSums{all: mat.Dot(t, q), keys: mat.NewDense(dk, dk, nil), values: mat.NewDense(dv, dv, nil)}
	for v, keys := range columns {
		c := mat.NewVecDense(dk, nil)
		c.MulVec(keys.T(), q.SliceVec(v*r, (v+1)*r))
		s.row = append(s.row, c)
	}
	return s
}

// block is G_vw of an end with weights.
func (k *keyedDirections) block(v, w int) *mat.Dense {
	r, _ := k.columns[0].Dims()
	var half, whole mat.Dense
	half.Mul(k.gram.Slice(v*r, (v+1)*r, w*r, (w+1)*r), k.columns[w])
	whole.Mul(k.columns[v].T(), &half)
	return &whole
}

// add adds a block, of v at most w, and the one that is its transpose.
func (s *partSums) add(v, w int, block *mat.Dense) {
	n, _ := block.Dims()
	times, square, transposed, trace := 2.0, 0.0, 0.0, mat.Trace(block)
	if v == w {
		times = 1
		s.keys.Add(s.keys, block)
		s.diagonal = append(s.diagonal, block)
	}
	for i := range n {
		row := block.RawRowView(i)
		square += floats.Dot(row, row)
		for j, x := range row {
			transposed += x * block.At(j, i)
		}
	}
	s.square, s.transposed = s.square+times*square, s.transposed+times*transposed
	s.values.Set(v, w, trace)
	s.values.Set(w, v, trace)
}

// finish takes norms and spreads from the sums of all blocks. The dimension that a mean takes away is one of Dk*Dv and
// left in the spread.
func (k *keyedDirections) finish() {
	d := k.dimensions()
	for i := range k.sums {
		s := &k.sums[i]
		trace := mat.Trace(s.keys)
		k.spreads = append(k.spreads, spreadOf(d, trace, s.square, s.transposed, squareOf(s.keys), squareOf(s.values)))
		if k.keyed.centred {
			trace -= s.all / float64(d.keys*d.values)
		}
		k.norms = append(k.norms, math.Sqrt(max(0, trace)))
	}
}

func squareOf(m *mat.Dense) float64 {
	norm := mat.Norm(m, 2)
	return norm * norm
}

// dimensions are Dk and Dv.
func (k *keyedDirections) dimensions() dimensions {
	_, dk := k.columns[0].Dims()
	return dimensions{dk, len(k.columns)}
}

// centre takes the mean from block v, w of C G C, C = I - 1 1^T / n with n = Dk*Dv, in its own memory:
//
//	G - (c 1^T + 1 c^T) / n + 1^T G 1 / n^2,   c = G 1
func (s *partSums) centre(block *mat.Dense, v, w int) *mat.Dense {
	n := float64(s.row[0].Len() * len(s.row))
	rest := s.all / (n * n)
	block.Apply(func(i, j int, x float64) float64 { return x - (s.row[v].AtVec(i)+s.row[w].AtVec(j))/n + rest }, block)
	return block
}

// centredKeys is the sum over v of C G C's blocks v, v.
func (s *partSums) centredKeys() *mat.Dense {
	dk, n := s.row[0].Len(), float64(s.row[0].Len()*len(s.row))
	sum := mat.NewVecDense(dk, nil)
	for _, c := range s.row {
		sum.AddVec(sum, c)
	}
	rest := float64(len(s.row)) * s.all / (n * n)
	centred := mat.DenseCopyOf(s.keys)
	centred.Apply(func(i, j int, x float64) float64 { return x - (sum.AtVec(i)+sum.AtVec(j))/n + rest }, centred)
	return centred
}
