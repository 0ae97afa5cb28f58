package kernel

import "math"

// attentionBlock is the number of queries and of keys in one tile of scores.
const attentionBlock = 64

// AttentionParams describes one causal attention.
type AttentionParams struct {
	Batch   int // rows
	Seq     int // tokens of a row
	Heads   int
	HeadDim int // Dh

	// Scale multiplies q.k: logit(i, j) = Scale * q_i.k_j - Slopes[h] * (i - j). The
	// caller folds 1/sqrt(Dh) and, for inverse layer scaling, 1/(layer+1) into it; the
	// ALiBi term is not scaled.
	Scale float64

	// Slopes holds one ALiBi slope a head (Press et al. 2022, eq. 2); nil for none.
	Slopes []float64

	// RopeBase is the base of rotary positions on q and k (Su et al. 2021, eq. 15):
	// the half-split pair (i, i+Dh/2) turns by pos * RopeBase^(-2i/Dh). 0 for none;
	// else HeadDim must be even.
	RopeBase float64
}

// slope returns the ALiBi slope of head h.
func (d *AttentionParams) slope(h int) float64 {
	if d.Slopes == nil {
		return 0
	}
	return d.Slopes[h]
}

// Attention computes causal attention with its softmax taken online over blocks of
// keys (Milakov & Gimelshein 2018; Dao et al. 2022, FlashAttention, algorithm 1), so
// that the largest matrix of scores in memory is one tile of 64 x 64 a worker:
//
//	out_i = sum_j P_ij v_j,  P_ij = exp(logit(i, j) - lse_i),  start_i <= j <= i
//
// The results have the same bits for any number of threads.
type Attention[T Float] struct {
	d      AttentionParams
	starts []int32
	qkv    []T // [batch*seq, 3, heads, headDim]
	out    []T // [batch*seq, heads, headDim]
	lse    []T // [batch, heads, seq], or nil
	dout   []T // like out; nil unless Backward runs
	dqkv   []T // like qkv; nil unless Backward runs
	prob   []T // [batch, heads, seq, seq]; nil unless Pattern runs
	cache  *KVCache[T]
	past   int // position of query 0: the length of the cache, 0 without one

	whole   int // (batch, head) pairs [0, whole) are one worker's each, the rest are split
	rope    ropeTable[T]
	rotated []T // [slots, 2, seq, headDim]: rotated q and k of a pair
	deltas  []T // [slots, seq]: dout_i . out_i of a pair
	workers []attentionWorker[T]
	path    path
	rows    path // the settled one
}

// attentionWorker is the scratch of one worker.
type attentionWorker[T Float] struct {
	gemm    GemmSerial[T]
	scores  []T // [attentionBlock, attentionBlock]
	dscores []T // [attentionBlock, attentionBlock]
	largest [attentionBlock]T
	sums    [attentionBlock]float64
}

// Forward computes out [batch*seq, heads, headDim] and lse [batch, heads, seq], the
// logarithms of the softmax denominators, from qkv [batch*seq, 3, heads, headDim]: q,
// then k, then v. Token i of a row sees the tokens j of its row with
// starts[i] <= j <= i; starts [batch*seq] counts within the row, a start beyond i is
// taken as i, and nil is 0 everywhere. lse may be nil if no Backward follows.
func (a *Attention[T]) Forward(p *Pool, out, lse, qkv []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.out, a.lse, a.qkv = out, lse, qkv
	a.forward(p)
}

// forward runs the pairs that are one worker's each, then the split ones.
func (a *Attention[T]) forward(p *Pool) {
	pairs := a.d.Batch * a.d.Heads
	a.plan(p, pairs-pairs%p.Threads())
	p.Do(a.whole, (*attentionForwardPairs[T])(a))
	if rest := (pairs - a.whole) * a.blocks(); rest > 0 {
		p.Do(rest, (*attentionPrepareBlocks[T])(a))
		p.Do(rest, (*attentionForwardBlocks[T])(a))
	}
}

// plan sizes the scratch. The first whole pairs use the slot of their worker, the
// others a slot each: there are fewer of them than threads.
func (a *Attention[T]) plan(p *Pool, whole int) {
	a.whole, a.rows = whole, pathOf[T](a.path)
	slots := p.Threads()
	if whole == 0 {
		slots = a.d.Batch * a.d.Heads
	}
	if len(a.workers) < p.Threads() {
		a.workers = append(a.workers, make([]attentionWorker[T], p.Threads()-len(a.workers))...)
	}
	for w := range p.Threads() {
		a.workers[w].gemm.path = a.path
		a.workers[w].scores = grow(a.workers[w].scores, attentionBlock*attentionBlock)
		if a.dqkv != nil {
			a.workers[w].dscores = grow(a.workers[w].dscores, attentionBlock*attentionBlock)
		}
	}
	if a.dqkv != nil {
		a.deltas = grow(a.deltas, slots*a.d.Seq)
	}
	if a.d.RopeBase != 0 {
		a.rotated = grow(a.rotated, slots*2*a.d.Seq*a.d.HeadDim)
		a.rope.extend(a.d.RopeBase, a.d.HeadDim, a.positions())
	}
}

// positions is the number of positions that the call, or its cache, can come to.
func (a *Attention[T]) positions() int {
	if a.cache != nil {
		return a.cache.Capacity
	}
	return a.d.Seq
}

// release lets go of the caller's slices.
func (a *Attention[T]) release() {
	a.d.Slopes, a.starts, a.cache, a.past = nil, nil, nil, 0
	a.qkv, a.out, a.lse, a.dout, a.dqkv, a.prob = nil, nil, nil, nil, nil, nil
}

// ScratchBytes is the memory that the kernel keeps between calls, that of its matrix
// multiplications left out.
func (a *Attention[T]) ScratchBytes() int {
	n := capBytes(a.workers) + capBytes(a.rotated) + capBytes(a.deltas) + a.rope.scratchBytes()
	for i := range a.workers {
		n += capBytes(a.workers[i].scores) + capBytes(a.workers[i].dscores)
	}
	return n
}

// attentionForwardPairs gives every worker whole (batch, head) pairs.
type attentionForwardPairs[T Float] Attention[T]

func (t *attentionForwardPairs[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	for pair := lo; pair < hi; pair++ {
		a.prepare(pair, worker, 0, a.d.Seq)
		v := a.view(pair, worker)
		for block := range a.blocks() {
			a.attend(&a.workers[worker], v, block)
		}
	}
}

// attentionPrepareBlocks prepares the pairs that are split, block by block.
type attentionPrepareBlocks[T Float] Attention[T]

func (t *attentionPrepareBlocks[T]) Part(_, lo, hi int) {
	a := (*Attention[T])(t)
	for item := lo; item < hi; item++ {
		rest, block := item/a.blocks(), item%a.blocks()
		i0, i1 := a.block(block)
		a.prepare(a.whole+rest, rest, i0, i1)
	}
}

// attentionForwardBlocks splits the remaining pairs by blocks of queries.
type attentionForwardBlocks[T Float] Attention[T]

func (t *attentionForwardBlocks[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	for item := lo; item < hi; item++ {
		rest := item / a.blocks()
		block := balanced(item%a.blocks(), a.blocks())
		a.attend(&a.workers[worker], a.view(a.whole+rest, rest), block)
	}
}

// balanced deals the blocks 0, n-1, 1, n-2, ...: a later block of queries sees more
// keys, and in this order any contiguous part of the items is about equally costly.
func balanced(item, n int) int {
	if item%2 == 0 {
		return item / 2
	}
	return n - 1 - item/2
}

// attend computes one block of queries of one pair over all blocks of keys it sees.
func (a *Attention[T]) attend(w *attentionWorker[T], v attentionView[T], block int) {
	i0, i1 := a.block(block)
	ld := a.d.Heads * a.d.HeadDim
	out := a.out[(v.row*a.d.Seq+i0)*ld+v.head*a.d.HeadDim:]
	var beta T
	for r := range i1 - i0 {
		w.largest[r], w.sums[r] = T(math.Inf(-1)), 0
	}
	last := a.past + i1 // one past the last visible key
	for j0 := a.firstBlock(v.row, i0, i1); j0 < last; j0 += attentionBlock {
		j1 := min(j0+attentionBlock, last)
		a.scoreTile(w, v, i0, i1, j0, j1)
		for r := range i1 - i0 {
			a.softmaxTileRow(w, v, i0+r, r, j0, j1, out[r*ld:][:a.d.HeadDim])
		}
		// out [queries, Dh] = P [queries, keys] v [keys, Dh] + beta * out
		w.gemm.Run(false, false, i1-i0, a.d.HeadDim, j1-j0, 1, w.scores, attentionBlock, v.v[j0*v.ldv:], v.ldv, beta, out, ld)
		beta = 1
	}
	a.finish(w, v, i0, i1, out, ld)
}

// scoreTile sets scores [queries i0:i1, keys j0:j1] = Scale * q k^T.
func (a *Attention[T]) scoreTile(w *attentionWorker[T], v attentionView[T], i0, i1, j0, j1 int) {
	w.gemm.Run(false, true, i1-i0, j1-j0, a.d.HeadDim, T(a.d.Scale), v.q[i0*v.ldq:], v.ldq, v.k[j0*v.ldk:], v.ldk, 0, w.scores, attentionBlock)
}

// softmaxTileRow turns row r of the scores into exp(logit - largest so far), 0 where
// the query sees nothing, and brings the row's sum and output to the new largest.
func (a *Attention[T]) softmaxTileRow(w *attentionWorker[T], v attentionView[T], i, r, j0, j1 int, out []T) {
	row := w.scores[r*attentionBlock:][:j1-j0]
	visible := a.visible(row, v.row, i, j0, j1)
	if len(visible) == 0 {
		return
	}
	nearest := a.past + i - min(j1-1, a.past+i) // the distance of the last visible key
	if m := distancesMax(a.rows, visible, v.slope, nearest+len(visible)-1); m > w.largest[r] {
		if w.sums[r] != 0 {
			shrink := expT(w.largest[r] - m)
			w.sums[r] *= float64(shrink)
			scaleRow(a.rows, out, shrink)
		}
		w.largest[r] = m
	}
	w.sums[r] += softmaxExp(a.rows, visible, w.largest[r])
}

// visible clears what query i does not see of a row of scores over the keys j0:j1 and
// returns the rest.
func (a *Attention[T]) visible(row []T, batch, i, j0, j1 int) []T {
	lo := min(max(a.start(batch, i)-j0, 0), j1-j0)
	hi := min(max(a.past+i+1-j0, lo), j1-j0)
	clear(row[:lo])
	clear(row[hi:])
	return row[lo:hi]
}

// finish divides the output rows by their sums and writes lse.
func (a *Attention[T]) finish(w *attentionWorker[T], v attentionView[T], i0, i1 int, out []T, ld int) {
	for r := range i1 - i0 {
		scaleRow(a.rows, out[r*ld:][:a.d.HeadDim], T(1/w.sums[r]))
		if a.lse != nil {
			a.lse[v.pair*a.d.Seq+i0+r] = T(float64(w.largest[r]) + math.Log(w.sums[r]))
		}
	}
}
