package mix

import "github.com/residua-go/residua/graph/cuda"

// The sizes in mixtiles.cu.
const (
	tileRows    = 32  // rows of results of mix_combine
	tileColumns = 64  // columns of results of mix_combine
	tileDots    = 32  // rows and columns of results of mix_dots
	tileBlocks  = 256 // largest number of blocks that share the gradient of one C for all tokens
)

// mixTerm is a term that mix_combine sums: rows of x, multiplied by a part of C. row and term are
// the distances in that part from one result to the next and from one row of x to the next.
type mixTerm struct {
	part, x          cuda.Array
	row, term, terms int
}

// transposed returns the term with its part of C transposed.
func (t mixTerm) transposed() mixTerm {
	t.row, t.term = t.term, t.row
	return t
}

// down, carry and up return the terms of C's parts by row; their transposes go by column.
func (d *deviceMix) down(c, x cuda.Array) mixTerm  { return d.part(c, x, 0) }
func (d *deviceMix) carry(c, x cuda.Array) mixTerm { return d.part(c, x, d.M) }
func (d *deviceMix) up(c, x cuda.Array) mixTerm    { return d.part(c, x, d.Columns()-d.M) }

func (d *deviceMix) part(c, x cuda.Array, column int) mixTerm {
	return mixTerm{c.Slice(column, c.N-column), x, d.Columns(), 1, x.N / max(1, d.Tokens*d.D)}
}

// combine computes out_t[r] = the sum of the terms + addend_t[r], r < rows, for each token, or adds
// it to out if accumulate is true. out may be the x of a term.
func (d *deviceMix) combine(out, addend cuda.Array, rows int, accumulate bool, terms ...mixTerm) {
	args := cuda.Args{out, addend}
	for i := range 2 {
		var t mixTerm
		if i < len(terms) {
			t = terms[i]
		}
		if t.x.Ptr == out.Ptr {
			copied := d.Scratch(t.x.Type, t.x.N)
			d.CopyTo(copied, t.x)
			t.x = copied
		}
		args = append(args, t.part, t.x, cuda.Ints(t.row, t.term, t.terms))
	}
	stride := d.N * d.Columns()
	if d.Shared {
		stride = 0
	}
	grid := cuda.Grid{X: d.Tokens, Y: (d.D + tileColumns - 1) / tileColumns, Z: (rows + tileRows - 1) / tileRows, Threads: 128}
	d.Launch(d.name("mix_combine"), grid,
		args, cuda.Long(stride), cuda.Ints(rows, d.D), cuda.Bool(accumulate))
}

// dotProducts are the dot products of the n rows of x with the m rows of y, which go to the columns
// of C from column on.
type dotProducts struct {
	x, y         cuda.Array
	n, m, column int
}

// dots computes the gradient of C from dot products of rows.
func (d *deviceMix) dots(g mixGradients, all ...dotProducts) {
	if g.dc.None() {
		return
	}
	chunk := 1
	if d.Shared {
		chunk = max(1, (d.Tokens+tileBlocks-1)/tileBlocks)
	}
	blocks := (d.Tokens + chunk - 1) / chunk
	d.sums(g, blocks, true, func(dc cuda.Array) {
		for _, p := range all {
			grid := cuda.Grid{X: blocks, Y: (p.n + tileDots - 1) / tileDots, Z: (p.m + tileDots - 1) / tileDots, Threads: 128}
			d.Launch(d.name("mix_dots"), grid, dc.Slice(p.column, 1), p.x, p.y, cuda.Long(d.Tokens),
				cuda.Ints(p.n, p.m, d.D, d.Columns()), cuda.Long(d.N*d.Columns()), cuda.Int(chunk))
		}
	})
}
