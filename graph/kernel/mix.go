package kernel

// MixParams are the sizes of a MixRead or a MixWrite.
type MixParams struct {
	Tokens int  // T, may be 0
	N      int  // n, rows of a token's stream: H_t is N x D
	M      int  // m, rows that a sublayer reads and writes
	D      int  // d, elements in a row
	Shared bool // one C for all tokens, not one a token
}

// Columns is the number of columns of C: those of down, carry and up'.
func (d MixParams) Columns() int { return 2*d.M + d.N }

// carry is the first column of carry in C, up that of up'.
func (d MixParams) carry() int { return d.M }
func (d MixParams) up() int    { return d.M + d.N }

// stream and rows are the number of elements of H_t, and of what a sublayer reads or
// writes.
func (d MixParams) stream() int { return d.N * d.D }
func (d MixParams) rows() int   { return d.M * d.D }

// sizeC is the number of elements of one C, totalC that of all.
func (d MixParams) sizeC() int { return d.N * d.Columns() }

func (d MixParams) totalC() int {
	if d.Shared {
		return d.sizeC()
	}
	return d.Tokens * d.sizeC()
}

// coefficientsOf is C [n, columns] of token i.
func coefficientsOf[T Float](c []T, i int, d MixParams) []T {
	if d.Shared {
		return c
	}
	return c[i*d.sizeC() : (i+1)*d.sizeC()]
}

// term is a combination of k rows with coefficients from columns of C, transposed where
// the rows that are combined are those of C, not the results.
func (d MixParams) term(k int, transposed bool) coefficients {
	return coefficients{k: k, stride: d.Columns(), transposed: transposed}
}

// mixGrads are the sums that the gradient of C is made of.
type mixGrads[T Float] struct {
	dc, addend []T // dc nil: not wanted
	accumulate bool
	d          MixParams
	sums       treeSums[T] // for a shared C
}

// set readies the sums for a run.
func (g *mixGrads[T]) set(p *Pool, path path, dc, addend []T, accumulate bool, d MixParams) {
	g.dc, g.addend, g.accumulate, g.d = nil, nil, accumulate, d
	if dc != nil {
		g.dc = dc[:d.totalC()]
	}
	if addend != nil {
		g.addend = addend[:d.totalC()]
	}
	if g.summed() {
		g.sums.set(p, path, d.sizeC())
	}
}

// summed tells whether the gradient is a sum over tokens.
func (g *mixGrads[T]) summed() bool { return g.dc != nil && g.d.Shared }

// begin returns a worker's sum, empty; nil where there is none.
func (g *mixGrads[T]) begin(worker int) *treeSum[T] {
	if !g.summed() {
		return nil
	}
	return g.sums.begin(worker)
}

// token returns where token i's gradient of C is to be added.
func (g *mixGrads[T]) token(p path, sum *treeSum[T], i int) []T {
	if sum != nil {
		return sum.block
	}
	dc := coefficientsOf(g.dc, i, g.d)
	if !g.accumulate {
		clear(dc)
	}
	if g.addend != nil {
		addTo(p, dc, coefficientsOf(g.addend, i, g.d))
	}
	return dc
}

// collect finishes a run and forgets its arguments.
func (g *mixGrads[T]) collect(p *Pool, path path) {
	if g.summed() {
		g.sums.store(p, g.dc, g.accumulate)
		if g.addend != nil {
			addTo(path, g.dc, g.addend)
		}
	}
	g.dc, g.addend = nil, nil
}
