package kernel

// Backward computes dqkv [batch*seq, 3, heads, headDim], every element of it, from
// dout [batch*seq, heads, headDim] and from what Forward read and wrote. It recomputes
// P from lse tile by tile (Dao et al. 2022, FlashAttention, algorithm 4):
//
//	dP_ij = dout_i . v_j       delta_i = dout_i . out_i      dS_ij = P_ij (dP_ij - delta_i)
//	dv_j = sum_i P_ij dout_i   dq_i = Scale sum_j dS_ij k_j  dk_j = Scale sum_i dS_ij q_i
//
// With rotary positions q and k are the rotated ones, and dq, dk are rotated back.
func (a *Attention[T]) Backward(p *Pool, dqkv, qkv, out, dout, lse []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.dqkv, a.qkv, a.out, a.dout, a.lse = dqkv, qkv, out, dout, lse
	pairs := d.Batch * d.Heads
	a.plan(p, wholeBackwardPairs(pairs, p.Threads()))
	p.Do(a.whole, (*attentionBackwardPairs[T])(a))
	if rest := (pairs - a.whole) * a.blocks(); rest > 0 {
		p.Do(rest, (*attentionPrepareBlocks[T])(a))
		p.Do(rest, (*attentionBackwardKeys[T])(a))
		p.Do(rest, (*attentionBackwardQueries[T])(a))
	}
}

// wholeBackwardPairs is the number of pairs that stay with one worker each. A whole
// pair costs 5 matrix products a tile; a split one costs 7, since dk, dv and dq are
// then made in separate passes, so that splitting pays when few pairs are left over
// for many threads.
func wholeBackwardPairs(pairs, threads int) int {
	rest := pairs % threads
	if 7*rest < 5*threads {
		return pairs - rest
	}
	return pairs
}

// attentionBackwardPairs gives every worker whole (batch, head) pairs.
type attentionBackwardPairs[T Float] Attention[T]

func (t *attentionBackwardPairs[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	w := &a.workers[worker]
	for pair := lo; pair < hi; pair++ {
		a.prepare(pair, worker, 0, a.d.Seq)
		v, g := a.view(pair, worker), a.gradients(pair)
		a.clearQueries(g, 0, a.d.Seq)
		for keys := range a.blocks() {
			for queries := keys; queries < a.blocks(); queries++ {
				if a.gradientTile(w, v, queries, keys) {
					a.addKeys(w, v, g, queries, keys)
					a.addQueries(w, v, g, queries, keys)
				}
			}
		}
		a.rotateBackRows(g.q, g.ld, 0, a.d.Seq)
		a.rotateBackRows(g.k, g.ld, 0, a.d.Seq)
	}
}

// attentionBackwardKeys computes dk and dv of the split pairs, block by block of keys.
type attentionBackwardKeys[T Float] Attention[T]

func (t *attentionBackwardKeys[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	w := &a.workers[worker]
	for item := lo; item < hi; item++ {
		rest, keys := item/a.blocks(), balanced(item%a.blocks(), a.blocks())
		v, g := a.view(a.whole+rest, rest), a.gradients(a.whole+rest)
		for queries := keys; queries < a.blocks(); queries++ {
			if a.gradientTile(w, v, queries, keys) {
				a.addKeys(w, v, g, queries, keys)
			}
		}
		j0, j1 := a.block(keys)
		a.rotateBackRows(g.k, g.ld, j0, j1)
	}
}

// attentionBackwardQueries computes dq of the split pairs, block by block of queries.
type attentionBackwardQueries[T Float] Attention[T]

func (t *attentionBackwardQueries[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	w := &a.workers[worker]
	for item := lo; item < hi; item++ {
		rest, queries := item/a.blocks(), balanced(item%a.blocks(), a.blocks())
		v, g := a.view(a.whole+rest, rest), a.gradients(a.whole+rest)
		i0, i1 := a.block(queries)
		a.clearQueries(g, i0, i1)
		for keys := range queries + 1 {
			if a.gradientTile(w, v, queries, keys) {
				a.addQueries(w, v, g, queries, keys)
			}
		}
		a.rotateBackRows(g.q, g.ld, i0, i1)
	}
}

// attentionGradients is one pair's part of dqkv; its rows lie ld apart.
type attentionGradients[T Float] struct {
	q, k, v []T
	ld      int
}

func (a *Attention[T]) gradients(pair int) attentionGradients[T] {
	width := a.d.Heads * a.d.HeadDim
	x := a.packed(a.dqkv, pair/a.d.Heads, pair%a.d.Heads)
	return attentionGradients[T]{q: x, k: x[width:], v: x[2*width:], ld: 3 * width}
}

// deltaPair sets the slot's deltas of the tokens i0:i1 to dout_i . out_i.
func (a *Attention[T]) deltaPair(row, head, slot, i0, i1 int) {
	for i := i0; i < i1; i++ {
		at := ((row*a.d.Seq+i)*a.d.Heads + head) * a.d.HeadDim
		a.deltas[slot*a.d.Seq+i] = rowDot(a.rows, a.out[at:][:a.d.HeadDim], a.dout[at:][:a.d.HeadDim])
	}
}

// gradientTile recomputes P [queries, keys] into the worker's scores and sets dS
// [queries, keys] in its dscores. It returns false, having done nothing, if no query of
// the tile sees any of its keys.
func (a *Attention[T]) gradientTile(w *attentionWorker[T], v attentionView[T], queries, keys int) bool {
	i0, i1 := a.block(queries)
	j0, j1 := a.block(keys)
	if a.firstBlock(v.row, i0, i1) > j0 {
		return false
	}
	width := a.d.Heads * a.d.HeadDim
	a.scoreTile(w, v, i0, i1, j0, j1)
	// dP [queries, keys] = dout [queries, Dh] v^T [Dh, keys]
	dout := a.dout[(v.row*a.d.Seq+i0)*width+v.head*a.d.HeadDim:]
	w.gemm.Run(false, true, i1-i0, j1-j0, a.d.HeadDim, 1, dout, width, v.v[j0*v.ldv:], v.ldv, 0, w.dscores, attentionBlock)
	for r := range i1 - i0 {
		a.gradientTileRow(w, v, i0+r, r, j0, j1)
	}
	return true
}

// gradientTileRow turns row r of the scores into P and of the dscores from dP into dS.
func (a *Attention[T]) gradientTileRow(w *attentionWorker[T], v attentionView[T], i, r, j0, j1 int) {
	row := w.scores[r*attentionBlock:][:j1-j0]
	drow := w.dscores[r*attentionBlock:][:j1-j0]
	visible, dvisible := a.visible(row, v.row, i, j0, j1), a.visible(drow, v.row, i, j0, j1)
	if len(visible) == 0 {
		return
	}
	nearest := i - min(j1-1, i) // the distance of the last visible key
	softmaxGradient(a.rows, visible, dvisible, v.slope, nearest+len(visible)-1,
		a.lse[v.pair*a.d.Seq+i], a.deltas[v.slot*a.d.Seq+i])
}

// addKeys adds a tile's part to dk and dv. The diagonal tile is the first and sets them.
func (a *Attention[T]) addKeys(w *attentionWorker[T], v attentionView[T], g attentionGradients[T], queries, keys int) {
	i0, i1 := a.block(queries)
	j0, j1 := a.block(keys)
	width := a.d.Heads * a.d.HeadDim
	var beta T
	if queries != keys {
		beta = 1
	}
	// dv [keys, Dh] += P^T [keys, queries] dout [queries, Dh]
	dout := a.dout[(v.row*a.d.Seq+i0)*width+v.head*a.d.HeadDim:]
	w.gemm.Run(true, false, j1-j0, a.d.HeadDim, i1-i0, 1, w.scores, attentionBlock, dout, width, beta, g.v[j0*g.ld:], g.ld)
	// dk [keys, Dh] += Scale * dS^T [keys, queries] q [queries, Dh]
	w.gemm.Run(true, false, j1-j0, a.d.HeadDim, i1-i0, T(a.d.Scale), w.dscores, attentionBlock, v.q[i0*v.ldq:], v.ldq, beta, g.k[j0*g.ld:], g.ld)
}

// addQueries adds a tile's part to dq.
func (a *Attention[T]) addQueries(w *attentionWorker[T], v attentionView[T], g attentionGradients[T], queries, keys int) {
	i0, i1 := a.block(queries)
	j0, j1 := a.block(keys)
	// dq [queries, Dh] += Scale * dS [queries, keys] k [keys, Dh]
	w.gemm.Run(false, false, i1-i0, a.d.HeadDim, j1-j0, T(a.d.Scale), w.dscores, attentionBlock, v.k[j0*v.ldk:], v.ldk, 1, g.q[i0*g.ld:], g.ld)
}

// clearQueries sets dq of the tokens i0:i1 to zero.
func (a *Attention[T]) clearQueries(g attentionGradients[T], i0, i1 int) {
	for i := i0; i < i1; i++ {
		clear(g.q[i*g.ld:][:a.d.HeadDim])
	}
}

// rotateBackRows turns the rows i0:i1 of dq or dk back, with rotary positions.
func (a *Attention[T]) rotateBackRows(x []T, ld, i0, i1 int) {
	if a.d.RopeBase == 0 {
		return
	}
	for i := i0; i < i1; i++ {
		a.rope.rotateBack(x[i*ld:], i)
	}
}
