package kernel

// attentionView is one (batch, head) pair of an attention: where its queries, keys
// and values lie.
type attentionView[T Float] struct {
	pair, row, head, slot int
	slope                 float64
	q, k, v               []T // rows of headDim elements
	ldq, ldk, ldv         int // distances between rows
}

// view points at the pair's tensors: the packed ones, the rotated ones in the slot's
// scratch (with rotary positions), or those of the cache.
func (a *Attention[T]) view(pair, slot int) attentionView[T] {
	row, head := pair/a.d.Heads, pair%a.d.Heads
	width := a.d.Heads * a.d.HeadDim
	packed := a.packed(a.qkv, row, head)
	v := attentionView[T]{
		pair: pair, row: row, head: head, slot: slot, slope: a.d.slope(head),
		q: packed, k: packed[width:], v: packed[2*width:],
		ldq: 3 * width, ldk: 3 * width, ldv: 3 * width,
	}
	if a.d.RopeBase != 0 {
		v.q, v.k = a.rotatedPair(slot)
		v.ldq, v.ldk = a.d.HeadDim, a.d.HeadDim
	}
	if a.cache != nil {
		v.k, v.v = a.cache.pair(pair)
		v.ldk, v.ldv = a.d.HeadDim, a.d.HeadDim
	}
	return v
}

// packed returns x [batch*seq, 3, heads, headDim] from the pair's first query on; its
// rows lie 3*heads*headDim apart, its keys and values heads*headDim further on each.
func (a *Attention[T]) packed(x []T, row, head int) []T {
	return x[row*a.d.Seq*3*a.d.Heads*a.d.HeadDim+head*a.d.HeadDim:]
}

// rotatedPair returns the slot's scratch for rotated queries and keys, each
// [seq, headDim].
func (a *Attention[T]) rotatedPair(slot int) (q, k []T) {
	size := a.d.Seq * a.d.HeadDim
	q = a.rotated[slot*2*size:][:size]
	k = a.rotated[(slot*2+1)*size:][:size]
	return q, k
}

// prepare brings the tokens i0:i1 of a pair into the form that its view promises:
// rotates queries and keys, appends to the cache, and makes Backward's deltas.
func (a *Attention[T]) prepare(pair, slot, i0, i1 int) {
	row, head := pair/a.d.Heads, pair%a.d.Heads
	if a.d.RopeBase != 0 {
		a.rotatePair(a.packed(a.qkv, row, head), slot, i0, i1)
	}
	if a.cache != nil {
		a.appendPair(pair, slot, i0, i1)
	}
	if a.dqkv != nil {
		a.deltaPair(row, head, slot, i0, i1)
	}
}

// rotatePair rotates the queries and keys of the tokens i0:i1 into the slot's scratch.
func (a *Attention[T]) rotatePair(packed []T, slot, i0, i1 int) {
	q, k := a.rotatedPair(slot)
	width := a.d.Heads * a.d.HeadDim
	for i := i0; i < i1; i++ {
		token := packed[i*3*width:]
		a.rope.rotate(q[i*a.d.HeadDim:], token, a.past+i)
		a.rope.rotate(k[i*a.d.HeadDim:], token[width:], a.past+i)
	}
}

// blocks is the number of blocks that a row's tokens are split into.
func (a *Attention[T]) blocks() int { return (a.d.Seq + attentionBlock - 1) / attentionBlock }

// block returns the tokens [i0, i1) of a block.
func (a *Attention[T]) block(block int) (i0, i1 int) {
	i0 = block * attentionBlock
	return i0, min(i0+attentionBlock, a.d.Seq)
}

// start is the position of the first key that query i of a row sees.
func (a *Attention[T]) start(row, i int) int {
	if a.starts == nil {
		return 0
	}
	return min(max(int(a.starts[row*a.d.Seq+i]), 0), a.past+i)
}

// firstBlock is the position at which the first block of keys begins that any of the
// queries i0:i1 sees something of.
func (a *Attention[T]) firstBlock(row, i0, i1 int) int {
	if a.starts == nil {
		return 0
	}
	first := a.past + i1
	for i := i0; i < i1; i++ {
		first = min(first, a.start(row, i))
	}
	return first / attentionBlock * attentionBlock
}
