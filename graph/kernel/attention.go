package kernel

// AttentionParams describes one causal attention.
type AttentionParams struct {
	Batch   int // rows
	Seq     int // tokens of a row
	Heads   int // H, heads of queries
	KVHeads int // heads of keys and values, a divisor of Heads: head h reads h/(Heads/KVHeads); 0: Heads
	HeadDim int // Dh

	// Scale multiplies q.k: logit(i, j) = Scale * q_i.k_j - Slopes[h] * (i - j). The caller
	// includes 1/sqrt(Dh) in it and, for inverse layer scaling, 1/(layer+1); the ALiBi term is not
	// scaled.
	Scale float64

	// Slopes holds one ALiBi slope for each head (Press et al. 2022, eq. 2); nil for none.
	Slopes []float64

	// RopeBase is the base of rotary positions on q and k (Su et al. 2021, eq. 15): the half-split
	// pair (i, i+Dh/2) rotates by pos * RopeBase^(-2i/Dh). With 0 there is no rotation; otherwise
	// HeadDim must be even.
	RopeBase    float64
	RopeStretch RopeStretch

	// SoftCap, if above 0, is c of logits c tanh(Scale * q.k / c), to which ALiBi is added (Gemma
	// 2, arXiv 2408.00118, section 2).
	SoftCap float64

	// Window, if above 0, is the number of tokens that a query sees, including itself
	// (attention_window.go); Sinks is the number of first tokens of its document, or row, that it
	// also sees.
	Window, Sinks int
}

// kvHeads returns the number of heads of keys and values.
func (d *AttentionParams) kvHeads() int {
	if d.KVHeads == 0 {
		return d.Heads
	}
	return d.KVHeads
}

// group returns the number of heads that share keys and values. The pairs (batch, head) of a group
// have consecutive numbers: pair p reads keys and values p/group.
func (d *AttentionParams) group() int {
	if d.kvHeads() == d.Heads {
		return 1
	}
	return d.Heads / d.KVHeads
}

// groups returns the number of groups in all rows.
func (d *AttentionParams) groups() int { return d.Batch * d.kvHeads() }

// packedWidth returns the distance between tokens of packed queries, keys and values: heads of
// queries, of keys and of values, Dh entries each.
func (d *AttentionParams) packedWidth() int { return (d.Heads + 2*d.kvHeads()) * d.HeadDim }

// pairAt says where the first token of a (batch, head) pair lies.
type pairAt struct {
	q, k, v int // its query, key and value in [batch*seq, heads+2*kvHeads, headDim]
	out     int // its output in [batch*seq, heads, headDim]

	packedWidth, outWidth int // distances between tokens of each
}

// at returns where a pair lies.
func (d *AttentionParams) at(row, head int) pairAt {
	at := pairAt{packedWidth: d.packedWidth(), outWidth: d.Heads * d.HeadDim}
	first, kv := row*d.Seq*at.packedWidth, head
	if group := d.group(); group > 1 {
		kv /= group
	}
	at.q, at.k = first+head*d.HeadDim, first+(d.Heads+kv)*d.HeadDim
	at.v = at.k + d.kvHeads()*d.HeadDim
	at.out = (row*d.Seq*d.Heads + head) * d.HeadDim
	return at
}

// packed returns the slices of x that begin with the query, key and value of a (batch, head) pair's
// first token, and the distance between tokens.
func packed[T Float](d *AttentionParams, x []T, row, head int) (queries, keys, values []T, ld int) {
	at := d.at(row, head)
	return x[at.q:], x[at.k:], x[at.v:], at.packedWidth
}

// slope returns the ALiBi slope of head h.
func (d *AttentionParams) slope(h int) float64 {
	if d.Slopes == nil {
		return 0
	}
	return d.Slopes[h]
}

// Attention computes causal attention with an online softmax over chunks of keys (Milakov &
// Gimelshein 2018; Dao et al. 2022, FlashAttention, algorithm 1), so that each worker holds no more
// than attentionQueries x attentionKeys scores in memory:
//
//	out_i = sum_j P_ij v_j,  P_ij = exp(logit(i, j) - lse_i),  start_i <= j <= i
//
// With a window the sum is over the keys that attentionSight describes.
//
// Each (batch, head) pair is first copied out of the packed tensors, whose rows lie far apart, into
// contiguous scratch; heads that share keys and values (Ainslie et al. 2023, grouped-query
// attention) form a group, whose keys and values are copied once. A worker takes whole groups. The
// results have the same bits for any number of threads.
type Attention[T Float] struct {
	Rope *RopeTable[T] // shared with other kernels; nil: a table of its own

	d      AttentionParams
	starts []int32
	qkv    Rows[T] // [batch*seq, heads + 2 kvHeads, headDim]: queries, keys, values
	out    Rows[T] // [batch*seq, heads, headDim]
	lse    []T     // [batch, heads, seq], or nil
	dout   Rows[T] // like out; empty unless Backward runs
	dqkv   Rows[T] // like qkv; empty unless Backward runs
	cache  *KVCache[T]
	cached []CachedRow // the cache's row for each row; nil without a cache

	whole   int // (batch, head) pairs below whole are in groups that each belong to one worker; the others are split
	rope    *RopeTable[T]
	slots   []attentionSlot[T]
	workers []attentionWorker[T]
	path    path
	rows    path // settled by pathOf
	kernels *microkernels
	tiles   *microkernels // for products of bfloat16 by tiles, or nil
	sumDim  int           // distance between rows of sums: Dh, with tiles up to a multiple of 32
	small   bool          // see prefetchTokens
	longest int           // largest number of positions of a row: its tokens, and those in the cache
}

// Forward computes out [batch*seq, heads, headDim] and lse [batch, heads, seq], the logarithms of
// the softmax denominators, from qkv [batch*seq, heads + 2 kvHeads, headDim]: q, then k, then v.
// Token i of a row sees the tokens j of its row with starts[i] <= j <= i. starts [batch*seq] counts
// within the row; a start beyond i is taken as i, and nil means 0 everywhere. lse may be nil if no
// Backward follows.
func (a *Attention[T]) Forward(p *Pool, out Rows[T], lse []T, qkv Rows[T], starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.out, a.lse, a.qkv = out, lse, qkv
	a.forward(p)
}

// forward runs the groups that each belong to one worker, then the split ones.
func (a *Attention[T]) forward(p *Pool) {
	groups, group := a.d.groups(), a.d.group()
	whole := groups - groups%p.Threads()
	a.plan(p, whole*group)
	p.Do(whole, (*attentionForwardGroups[T])(a))
	if rest := (groups - whole) * group; rest > 0 {
		p.Do(rest*a.pieces(), (*attentionPreparePieces[T])(a))
		p.Do(rest*a.blocks(), (*attentionForwardBlocks[T])(a))
	}
}

// attentionForwardGroups gives every worker whole groups of (batch, head) pairs.
type attentionForwardGroups[T Float] Attention[T]

func (t *attentionForwardGroups[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	lo, hi = lo*a.d.group(), hi*a.d.group()
	for pair := lo; pair < hi; pair++ {
		v := a.view(pair, worker)
		if pair+1 < hi {
			v.follow(&a.d, pair+1)
		}
		a.prepare(&v, 0, v.past+v.tokens)
		for block := range a.blocks() {
			a.attend(&a.workers[worker], &v, block)
		}
	}
}

// attentionPreparePieces prepares the pairs that are split, piece by piece.
type attentionPreparePieces[T Float] Attention[T]

func (t *attentionPreparePieces[T]) Part(_, lo, hi int) {
	a := (*Attention[T])(t)
	for item := lo; item < hi; item++ {
		rest, piece := item/a.pieces(), item%a.pieces()
		p0, p1 := a.piece(piece)
		v := a.view(a.whole+rest, rest)
		a.prepare(&v, p0, p1)
	}
}

// attentionForwardBlocks computes the split pairs, by blocks of queries.
type attentionForwardBlocks[T Float] Attention[T]

func (t *attentionForwardBlocks[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	for item := lo; item < hi; item++ {
		rest := item / a.blocks()
		block := balanced(item%a.blocks(), a.blocks())
		v := a.view(a.whole+rest, rest)
		a.attend(&a.workers[worker], &v, block)
	}
}

// balanced returns the blocks in the order 0, n-1, 1, n-2, ...: a later block of queries sees more
// keys, and in this order any contiguous part of the items has about the same cost.
func balanced(item, n int) int {
	if item%2 == 0 {
		return item / 2
	}
	return n - 1 - item/2
}

// attend computes one block of queries of one pair over all the keys that it sees.
func (a *Attention[T]) attend(w *attentionWorker[T], v *attentionView[T], block int) {
	i0, end := a.block(block)
	i1 := min(end, v.tokens)
	for i := max(i0, i1); i < end; i++ { // padding tokens
		a.out.clear(v.at.outRow(i), a.d.HeadDim)
	}
	if i0 >= i1 {
		return
	}
	w.beginRows(i1 - i0)
	keys, add := a.blockKeys(v.row, i0, i1), false
	for _, r := range keys.ranges() {
		for j0 := r.j0; j0 < r.j1; j0 += attentionKeys {
			s := keys.span(i0, i1, j0, min(j0+attentionKeys, r.j1))
			a.keyScores(w, v, s)
			a.softmaxRows(w, v, s)
			if a.tiles == nil {
				a.multiplyRows(w.scores, v.v, 1, s, w.sum, add)
			} else {
				a.roundScores(w.tiles.p, float32s(w.scores), 1, s)
				a.multiplyTileRows(w, w.tiles.p, v.shared.tiles.valuePairs, s, w.sum, add)
			}
			add = true
		}
	}
	a.finish(w, v, i0, i1)
}
