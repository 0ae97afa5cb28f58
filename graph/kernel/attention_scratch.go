package kernel

import "math"

// The scores of a worker are a matrix of up to attentionQueries x attentionKeys that stays in the
// second-level cache. attentionQueries is a multiple of the heights of all micro-kernels' tiles;
// with AMX, blocks have attentionTileQueries queries. Rows of sum, dq, dk and dv are sumDim apart.
// The distance between rows leaves the elements after a row that expRows clears, and is not a power
// of two, because such rows would compete for the same cache lines.
const (
	attentionQueries = 84
	attentionKeys    = 512
	attentionStride  = attentionKeys + attentionTileRows

	attentionSmall = 1 << 17 // largest number of elements of queries, keys and values that are not prefetched
)

// attentionSlot is the scratch memory of one (batch, head) pair, without the cache's keys and
// values. Panels have the layout of B in block: each has as many columns as a micro-kernel is wide.
type attentionSlot[T Float] struct {
	q           []T // [seq, Dh]
	keys        []T // [seq, Dh]
	values      []T // [seq, Dh]; in Backward only for bfloat16
	keyPanels   []T // k^T [Dh, positions] in panels of positions
	dout        []T // [seq, Dh]; this field and those below only in Backward
	valuePanels []T // v^T [Dh, seq] in panels of tokens
	deltas      []T // [seq]: dout_i . out_i
	tiles       attentionTileSlot
}

// attentionWorker is the scratch memory of one worker.
type attentionWorker[T Float] struct {
	scores  []T // [attentionQueries, attentionStride]
	dscores []T // [attentionQueries, attentionStride]
	slopes  []T // [attentionQueries, attentionStride]: derivatives of the soft cap, only in Backward
	panel   []T // [Dh, width], a panel of k^T if the slot has no panels
	sum     []T // [attentionQueries, Dh]: P v of a block of queries
	dq      []T // [seq, Dh] for a whole pair, [attentionQueries, Dh] for a block of a split one
	dk, dv  []T // [attentionKeys, Dh]

	groupKeys, groupValues []T // [seq, Dh]: sums of dk and dv over a group's heads, see sumsGroups

	tiles   attentionTileWorker
	largest [attentionTileQueries]T
	sums    [attentionTileQueries]float64
	rows    [scoreRows]scoreRow[T]
	_       [cacheLine]byte
}

// plan allocates the scratch memory. The first whole pairs use the slot of their worker. The
// others, whose groups are fewer than the threads, have one slot each.
func (a *Attention[T]) plan(p *Pool, whole int) {
	a.whole, a.rows, a.kernels, a.longest = whole, pathOf[T](a.path), kernelsOf[T](a.path), a.d.Seq
	for _, r := range a.cached {
		a.longest = max(a.longest, int(r.Past+r.Tokens))
	}
	a.tiles, a.sumDim = a.useTiles(), a.d.HeadDim
	if a.tiles != nil {
		a.sumDim = upToTile(a.d.HeadDim)
	}
	a.small = a.qkv.len() <= attentionSmall
	pairs := a.d.Batch * a.d.Heads
	slots := pairs
	if whole > 0 {
		slots = max(p.Threads(), pairs-whole)
	}
	a.rope = a.Rope.orOwn(a.rope)
	a.rope.extend(a.d.RopeBase, a.d.RopeStretch, a.d.HeadDim, a.longest)
	a.slots = growKept(a.slots, max(slots, len(a.slots)))
	a.workers = growKept(a.workers, max(p.Threads(), len(a.workers)))
	for s := range slots {
		a.planSlot(&a.slots[s])
	}
	for w := range p.Threads() {
		a.planWorker(&a.workers[w])
	}
}

func (a *Attention[T]) planSlot(s *attentionSlot[T]) {
	size := a.d.Seq * a.d.HeadDim
	s.q = grow(s.q, size)
	if a.tiles != nil {
		a.planTiles(&s.tiles)
	}
	if a.cache == nil && (a.tiles == nil || a.d.RopeBase != 0) {
		s.keys = grow(s.keys, size)
	}
	if a.packsKeys() && a.tiles == nil {
		s.keyPanels = grow(s.keyPanels, a.panelSize(a.positions()))
	}
	switch {
	case !a.dqkv.none():
		s.dout, s.deltas = grow(s.dout, size), grow(s.deltas, a.d.Seq)
		if a.tiles != nil {
			return
		}
		s.valuePanels = grow(s.valuePanels, a.panelSize(a.d.Seq))
		if a.qkv.halves != nil {
			s.values = grow(s.values, size)
		}
	case a.cache == nil && a.tiles == nil:
		s.values = grow(s.values, size)
	}
}

func (a *Attention[T]) planWorker(w *attentionWorker[T]) {
	queries, keys := min(a.queries(), a.d.Seq), min(attentionKeys, a.d.Seq)
	if a.tiles != nil {
		queries, keys = upToTile(queries), upToTile(keys)
		a.planTileWorker(&w.tiles)
	}
	w.scores = grow(w.scores, queries*attentionStride)
	w.panel = grow(w.panel, a.d.HeadDim*a.kernels.width())
	if a.dqkv.none() {
		w.sum = grow(w.sum, queries*a.sumDim)
		return
	}
	w.dscores = grow(w.dscores, queries*attentionStride)
	if a.d.SoftCap > 0 {
		w.slopes = grow(w.slopes, queries*attentionStride)
	}
	w.dk, w.dv = grow(w.dk, keys*a.sumDim), grow(w.dv, keys*a.sumDim)
	if a.sumsGroups() {
		w.groupKeys, w.groupValues = grow(w.groupKeys, a.d.Seq*a.d.HeadDim), grow(w.groupValues, a.d.Seq*a.d.HeadDim)
	}
	if a.whole > 0 {
		queries = upToTile(a.d.Seq)
	}
	w.dq = grow(w.dq, queries*a.sumDim)
}

// beginRows prepares the rows of a block for the first scores.
func (w *attentionWorker[T]) beginRows(rows int) {
	for r := range rows {
		w.largest[r], w.sums[r] = T(math.Inf(-1)), 0
	}
}

// packsKeys tells whether k^T of a pair is packed once, in its slot. With only one block of queries
// each panel is needed once, and is packed where it is used.
func (a *Attention[T]) packsKeys() bool { return a.blocks() > 1 }

// panelSize returns the number of elements in the panels of the given number of keys or values.
func (a *Attention[T]) panelSize(keys int) int {
	width := a.kernels.width()
	return (keys + width - 1) / width * width * a.d.HeadDim
}

// positions returns the largest number of positions of a row in the call, or in its cache.
func (a *Attention[T]) positions() int {
	if a.cache != nil {
		return a.cache.Capacity
	}
	return a.d.Seq
}

// release drops the caller's slices.
func (a *Attention[T]) release() {
	a.d.Slopes, a.starts, a.cache, a.cached = nil, nil, nil, nil
	a.lse, a.dout, a.dqkv = nil, Rows[T]{}, Rows[T]{}
}

// queries returns the number of queries of a block.
func (a *Attention[T]) queries() int {
	return choose(a.tiles != nil, attentionTileQueries, attentionQueries)
}
