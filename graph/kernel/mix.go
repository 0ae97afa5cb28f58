package kernel

// MixParams are the sizes of a MixRead or a MixWrite.
type MixParams struct {
	Tokens int  // T, may be 0
	N      int  // n, rows of a token's stream: H_t is N x D
	M      int  // m, rows that a sublayer reads and writes
	D      int  // d, elements in a row
	Shared bool // one C for all tokens instead of one for each token
	Row    int  // columns of C: 2M, or M for a read or a write alone, if rows are carried as they are; 0: 2M + N
}

// Columns returns the number of columns of C: those of down, carry and up'.
func (d MixParams) Columns() int {
	if d.Row > 0 {
		return d.Row
	}
	return 2*d.M + d.N
}

// Mixes tells whether C has columns for carrying rows; otherwise rows are carried as they are.
func (d MixParams) Mixes() bool { return d.Columns() == 2*d.M+d.N }

// carry returns the first column of carry in C; up returns the first column of up'.
func (d MixParams) carry() int { return d.M }
func (d MixParams) up() int    { return d.Columns() - d.M }

// stream returns the number of elements of H_t; rows returns the number that a sublayer reads
// or writes.
func (d MixParams) stream() int { return d.N * d.D }
func (d MixParams) rows() int   { return d.M * d.D }

// sizeC returns the number of elements of one C; totalC returns the number in all of them.
func (d MixParams) sizeC() int { return d.N * d.Columns() }

func (d MixParams) totalC() int {
	if d.Shared {
		return d.sizeC()
	}
	return d.Tokens * d.sizeC()
}

// coefficientsOf returns C [n, columns] of token i.
func coefficientsOf[T Float](c []T, i int, d MixParams) []T {
	if d.Shared {
		return c
	}
	return c[i*d.sizeC() : (i+1)*d.sizeC()]
}

// term returns the coefficients of a combination of k rows, taken from columns of C. They are
// transposed if C's rows stand for the combined rows, not for the results.
func (d MixParams) term(k int, transposed bool) coefficients {
	return coefficients{k: k, stride: d.Columns(), transposed: transposed}
}

// MixGrads holds the slices for the gradients of a MixRead or a MixWrite: H [tokens, n, d], Y
// [tokens, m, d] for a MixWrite and C, in the shape of c; Y and C are nil if they are not wanted.
// AddendH is added to H, AddendC to C, unless they are nil; AddToY and AddToC add to what the
// slices hold. Without carry a MixWrite needs no H.
type MixGrads[T Float] struct {
	H, AddendH     []T // H may be AddendH
	Y              []T
	C, AddendC     []T
	AddToY, AddToC bool
}

// mixGrads computes the gradient of C.
type mixGrads[T Float] struct {
	MixGrads[T]
	d    MixParams
	sums treeSums[T] // for a shared C
}

// set prepares the sums for a run.
func (g *mixGrads[T]) set(p *Pool, path path, to MixGrads[T], d MixParams) {
	g.MixGrads, g.d = to, d
	if !d.Shared {
		to.C = nil
	}
	g.sums.want(p, path, to.C, to.AddToC)
}

// token returns the slice to which token i's gradient of C is to be added.
func (g *mixGrads[T]) token(p path, sum *treeSum[T], i int) []T {
	if g.d.Shared {
		return sum.block
	}
	dc := coefficientsOf(g.C, i, g.d)
	if !g.AddToC {
		clear(dc)
	}
	if g.AddendC != nil {
		addTo(p, dc, coefficientsOf(g.AddendC, i, g.d))
	}
	return dc
}

// store completes a run.
func (g *mixGrads[T]) store(p *Pool, path path) {
	g.sums.store(p)
	if g.sums.out != nil && g.AddendC != nil {
		addTo(path, g.C, g.AddendC)
	}
}
