package kernel

// attentionPiece is the number of positions that are prepared together if a pair is split: a
// multiple of every micro-kernel's width, so that pieces share no panel.
const attentionPiece = 64

// attentionView says where the prepared operands of one (batch, head) pair lie. Rows follow one
// another without gaps.
type attentionView[T Float] struct {
	pair, row, head int
	slope           float64
	*attentionSlot[T]
	shared *attentionSlot[T] // the slot with the group's keys and values
	k, v   []T               // [positions, Dh], in the slot or in the cache
	past   int               // position of the row's first token: the number of positions already in the cache
	tokens int               // number of tokens that are not padding; all without a cache

	at      pairAt
	next    pairAt // where the pair lies that the worker takes next
	hasNext bool
}

// follow says which pair the worker takes next.
func (v *attentionView[T]) follow(d *AttentionParams, pair int) {
	v.next, v.hasNext = d.at(pair/d.Heads, pair%d.Heads), true
}

// view returns the view of a pair. slot is the number of its slot, which for a pair of a whole
// group is the worker's and for a split pair its own. With a cache, the view points to the cache's
// keys and values.
func (a *Attention[T]) view(pair, slot int) attentionView[T] {
	s, shared := &a.slots[slot], &a.slots[slot]
	head := pair % a.d.Heads
	if pair >= a.whole { // the slot of the group's first pair has the keys and values
		shared = &a.slots[slot-head%a.d.group()]
	}
	v := attentionView[T]{
		pair: pair, row: pair / a.d.Heads, head: head, slope: a.d.slope(head),
		attentionSlot: s, shared: shared, k: shared.keys, v: shared.values,
		tokens: a.d.Seq, at: a.d.at(pair/a.d.Heads, head),
	}
	if a.cache != nil {
		r := a.cached[v.row]
		v.past, v.tokens = int(r.Past), int(r.Tokens)
		v.k, v.v = a.cache.head(int(r.Row), head/a.d.group())
	}
	return v
}

// firstOfGroup tells whether the pair is the first of those that share keys and values, and so the
// one that prepares them.
func (v *attentionView[T]) firstOfGroup(d *AttentionParams) bool { return v.head%d.group() == 0 }

// prepare brings the positions p0:p1 of a pair into the form that its view promises. It copies the
// new tokens out of the packed tensors, rotates queries and keys if there are rotary positions,
// writes keys and values into the cache if there is one, and packs panels for the products. The
// first pair of a group does this for the group's keys and values. p0 is a multiple of
// attentionPiece.
func (a *Attention[T]) prepare(v *attentionView[T], p0, p1 int) {
	if p1 = min(p1, v.past+v.tokens); p0 >= p1 || v.tokens == 0 {
		return
	}
	i0, i1 := max(p0-v.past, 0), max(p1-v.past, 0)
	first := v.firstOfGroup(&a.d)
	if !a.dqkv.none() {
		a.copyOutGradients(v, i0, i1)
	}
	if a.tiles != nil {
		a.copyRotations(v, i0, i1, first)
		a.prepareTiles(v, i0, i1, first)
		return
	}
	a.copyTokens(v, i0, i1, first)
	if first && a.packsKeys() {
		a.packPanels(v.keyPanels, v.k, a.d.HeadDim, p0, p1)
	}
	switch {
	case !first || a.dqkv.none():
	case a.qkv.halves != nil:
		a.packPanels(v.valuePanels, v.v, a.d.HeadDim, p0, p1)
	default:
		a.packPanels(v.valuePanels, a.qkv.floats[v.at.v:], v.at.packedWidth, p0, p1)
	}
}

// prefetchTokens starts loading what the worker needs for n tokens from i on after the scores: the
// memory for their results, and the tokens of the next pair. A pair's rows lie in different pages,
// too far apart for the processor to look ahead itself. Tensors that fit into the second-level
// cache need no help.
func (a *Attention[T]) prefetchTokens(v *attentionView[T], i, n int) {
	if a.small {
		return
	}
	dim, backward := a.d.HeadDim, !a.dqkv.none()
	if backward {
		a.dqkv.prefetchPacked(&v.at, i, dim, n)
	} else {
		a.out.prefetchRows(v.at.outRow(i), v.at.outWidth, dim, n)
	}
	if !v.hasNext {
		return
	}
	a.qkv.prefetchPacked(&v.next, i, dim, n)
	if backward {
		a.out.prefetchRows(v.next.outRow(i), v.next.outWidth, dim, n)
		a.dout.prefetchRows(v.next.outRow(i), v.next.outWidth, dim, n)
	}
}

// prefetchPacked starts loading the queries, keys and values of n tokens of a pair, from token i
// on.
func (r *Rows[T]) prefetchPacked(at *pairAt, i, dim, n int) {
	r.prefetchRows(at.query(i), at.packedWidth, dim, n)
	r.prefetchRows(at.key(i), at.packedWidth, dim, n)
	r.prefetchRows(at.value(i), at.packedWidth, dim, n)
}

// query, key, value and outRow return where those of token i lie.
func (p *pairAt) query(i int) int  { return p.q + i*p.packedWidth }
func (p *pairAt) key(i int) int    { return p.k + i*p.packedWidth }
func (p *pairAt) value(i int) int  { return p.v + i*p.packedWidth }
func (p *pairAt) outRow(i int) int { return p.out + i*p.outWidth }

// copyTokens copies the queries of the tokens i0:i1. With all it also copies their keys and, except
// in a Backward of float32 or float64, their values.
func (a *Attention[T]) copyTokens(v *attentionView[T], i0, i1 int, all bool) {
	dim, ld, n := a.d.HeadDim, v.at.packedWidth, i1-i0
	pos := v.past + i0
	a.copyRotated(v.q[i0*dim:], v.at.query(i0), pos, n)
	if !all {
		return
	}
	a.copyRotated(v.k[pos*dim:], v.at.key(i0), pos, n)
	if a.dqkv.none() || a.qkv.halves != nil {
		a.qkv.readRows(a.rows, v.v[pos*dim:], v.at.value(i0), ld, dim, n)
	}
}

// copyRotations copies the queries of the tokens i0:i1 and, if all is set, their keys. It does
// nothing without rotary positions.
func (a *Attention[T]) copyRotations(v *attentionView[T], i0, i1 int, all bool) {
	if a.rope.base == 0 {
		return
	}
	a.copyRotated(v.q[i0*a.d.HeadDim:], v.at.query(i0), i0, i1-i0)
	if all {
		a.copyRotated(v.k[i0*a.d.HeadDim:], v.at.key(i0), i0, i1-i0)
	}
}

// copyRotated copies n queries or keys, the first at position pos, rotated if there are rotary
// positions.
func (a *Attention[T]) copyRotated(dst []T, at, pos, n int) {
	dim, ld := a.d.HeadDim, a.d.packedWidth()
	if a.rope.base == 0 {
		a.qkv.readRows(a.rows, dst, at, ld, dim, n)
		return
	}
	for i := range n {
		to := dst[i*dim:][:dim]
		a.rope.rotate(to, a.qkv.read(a.rows, to, at+i*ld, dim), pos+i)
	}
}

// copyOutGradients copies dout of the tokens i0:i1 and computes their deltas. It widens rows of out
// into the memory that later holds queries.
func (a *Attention[T]) copyOutGradients(v *attentionView[T], i0, i1 int) {
	dim := a.d.HeadDim
	a.dout.readRows(a.rows, v.dout[i0*dim:], v.at.outRow(i0), v.at.outWidth, dim, i1-i0)
	for i := i0; i < i1; i++ {
		v.deltas[i] = rowDot(a.rows, a.out.read(a.rows, v.q[i*dim:], v.at.outRow(i), dim), v.dout[i*dim:][:dim])
	}
}

// packPanels packs the rows p0:p1 of x, ld apart, as columns of panels [Dh, width].
func (a *Attention[T]) packPanels(panels, x []T, ld, p0, p1 int) {
	width := a.kernels.width()
	for p := p0; p < p1; p += width {
		a.packPanel(panels[p*a.d.HeadDim:], x[p*ld:], ld, min(width, p1-p))
	}
}

// packPanel packs one panel of up to width columns.
func (a *Attention[T]) packPanel(panel, x []T, ld, columns int) {
	transpose(a.rows, panel, a.kernels.width(), x, ld, columns, a.d.HeadDim)
}

// blocks returns the number of blocks that a row's queries are split into.
func (a *Attention[T]) blocks() int { return (a.d.Seq + a.queries() - 1) / a.queries() }

// block returns the tokens [i0, i1) of a block.
func (a *Attention[T]) block(block int) (i0, i1 int) {
	i0 = block * a.queries()
	return i0, min(i0+a.queries(), a.d.Seq)
}

// pieces returns the number of pieces in which a row's positions are prepared.
func (a *Attention[T]) pieces() int { return (a.longest + attentionPiece - 1) / attentionPiece }

// piece returns the positions [p0, p1) of a piece.
func (a *Attention[T]) piece(piece int) (p0, p1 int) {
	p0 = piece * attentionPiece
	return p0, min(p0+attentionPiece, a.longest)
}

// past returns the position of a row's first token.
func (a *Attention[T]) past(row int) int {
	if a.cache == nil {
		return 0
	}
	return int(a.cached[row].Past)
}

// start returns the position of the first key that query i of a row sees.
func (a *Attention[T]) start(row, i int) int {
	return min(max(startOf(a.starts, row*a.d.Seq+i), 0), a.past(row)+i)
}
