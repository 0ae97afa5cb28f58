package kernel

// Backward computes every element of dqkv [batch*seq, heads + 2 kvHeads, headDim] from dout
// [batch*seq, heads, headDim] and from what Forward read and wrote. It recomputes P from lse span
// by span (Dao et al. 2022, FlashAttention, algorithm 4):
//
//	dP_ij = dout_i . v_j       delta_i = dout_i . out_i      dS_ij = P_ij (dP_ij - delta_i)
//	dv_j = sum_i P_ij dout_i   dq_i = Scale sum_j dS_ij k_j  dk_j = Scale sum_i dS_ij q_i
//
// With rotary positions q and k are the rotated ones, and dq, dk are rotated back. For heads that
// share keys and values, dk and dv are summed in the order of heads.
func (a *Attention[T]) Backward(p *Pool, dqkv, qkv, out, dout Rows[T], lse []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.dqkv, a.qkv, a.out, a.dout, a.lse = dqkv, qkv, out, dout, lse
	groups, group := d.groups(), d.group()
	whole := wholeBackwardGroups(groups, p.Threads())
	a.plan(p, whole*group)
	p.Do(whole, (*attentionBackwardGroups[T])(a))
	if rest := groups - whole; rest > 0 {
		p.Do(rest*group*a.pieces(), (*attentionPreparePieces[T])(a))
		p.Do(rest*a.pieces(), (*attentionBackwardKeys[T])(a))
		p.Do(rest*group*a.blocks(), (*attentionBackwardQueries[T])(a))
	}
}

// wholeBackwardGroups returns the number of groups that each stay with one worker. Such a
// group costs 5 matrix products per span. A split one costs 7, since dk, dv and dq then take
// separate passes, so splitting pays only if few groups are left for many threads.
func wholeBackwardGroups(groups, threads int) int {
	rest := groups % threads
	if 7*rest < 5*threads {
		return groups - rest
	}
	return groups
}

// attentionBackwardGroups gives every worker whole groups of (batch, head) pairs.
type attentionBackwardGroups[T Float] Attention[T]

func (t *attentionBackwardGroups[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	w := &a.workers[worker]
	lo, hi = lo*a.d.group(), hi*a.d.group()
	for pair := lo; pair < hi; pair++ {
		v := a.view(pair, worker)
		if pair+1 < hi {
			v.follow(&a.d, pair+1)
		}
		a.prepare(&v, 0, a.d.Seq)
		for j0 := 0; j0 < a.d.Seq; j0 += attentionKeys {
			j1 := min(j0+attentionKeys, a.d.Seq)
			for block := j0 / a.queries(); block < a.blocks(); block++ {
				spans, first := a.spans(v.row, block, j0, j1)
				for _, s := range spans {
					if s.columns() > 0 {
						a.gradientSpan(w, &v, s)
						a.addKeys(w, &v, s, j0)
						a.addQueries(w, &v, s, w.dq[s.i0*a.sumDim:], !first)
						first = false
					}
				}
			}
			a.writeKeys(w, &v, j0, j1)
		}
		a.writeQueries(w, &v, 0, a.d.Seq)
	}
}

// attentionBackwardKeys computes dk and dv of the split groups, piece by piece of keys.
type attentionBackwardKeys[T Float] Attention[T]

func (t *attentionBackwardKeys[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	w := &a.workers[worker]
	for item := lo; item < hi; item++ {
		first := item / a.pieces() * a.d.group()
		j0, j1 := a.piece(balanced(item%a.pieces(), a.pieces()))
		for rest := first; rest < first+a.d.group(); rest++ {
			v := a.view(a.whole+rest, rest)
			for block := j0 / a.queries(); block < a.blocks(); block++ {
				spans, _ := a.spans(v.row, block, j0, j1)
				for _, s := range spans {
					if s.columns() > 0 {
						a.gradientSpan(w, &v, s)
						a.addKeys(w, &v, s, j0)
					}
				}
			}
			a.writeKeys(w, &v, j0, j1)
		}
	}
}

// attentionBackwardQueries computes dq of the split pairs, block by block of queries, with the same
// chunks of keys as for whole pairs.
type attentionBackwardQueries[T Float] Attention[T]

func (t *attentionBackwardQueries[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	w := &a.workers[worker]
	for item := lo; item < hi; item++ {
		rest := item / a.blocks()
		block := balanced(item%a.blocks(), a.blocks())
		v := a.view(a.whole+rest, rest)
		i0, i1 := a.block(block)
		for j0 := 0; j0 < i1; j0 += attentionKeys {
			spans, first := a.spans(v.row, block, j0, j0+attentionKeys)
			for _, s := range spans {
				if s.columns() > 0 {
					a.gradientSpan(w, &v, s)
					a.addQueries(w, &v, s, w.dq, !first)
					first = false
				}
			}
		}
		a.writeQueries(w, &v, i0, i1)
	}
}

// spans returns a block of queries with those of the keys j0:j1 that it sees, as two spans: the
// sinks and the other keys. A span without columns is to be skipped. first tells that the block
// sees no keys before them.
func (a *Attention[T]) spans(row, block, j0, j1 int) (spans [2]attentionSpan, first bool) {
	i0, i1 := a.block(block)
	keys := a.blockKeys(row, i0, i1)
	for i, r := range keys.ranges() {
		from := max(j0, r.j0)
		spans[i] = keys.span(i0, i1, from, max(from, min(j1, r.j1)))
	}
	return spans, j0 <= keys.first()
}

// gradientSpan recomputes P [queries, keys] into the worker's scores and computes dS [queries,
// keys] into its dscores.
func (a *Attention[T]) gradientSpan(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	a.keyScores(w, v, s)
	// dP [queries, keys] = dout [queries, Dh] v^T [Dh, keys]
	if a.tiles == nil {
		a.multiplyPanels(w.dscores, v.dout, v.shared.valuePanels, 1, s)
		a.gradientRows(w, v, s)
		if a.d.SoftCap > 0 {
			a.uncapGradients(w, s)
		}
		return
	}
	a.multiplyTilePanels(w, w.dscores, v.tiles.dout, v.shared.tiles.valuePanels, s)
	a.gradientRows(w, v, s)
	a.roundScores(w.tiles.p, float32s(w.scores), 1, s)
	a.roundScores(w.tiles.ds, float32s(w.dscores), float32(a.d.Scale), s)
}

// addKeys adds a span's part to the worker's dk and dv, whose first rows belong to key j0.
func (a *Attention[T]) addKeys(w *attentionWorker[T], v *attentionView[T], s attentionSpan, j0 int) {
	at := (s.j0 - j0) * a.sumDim
	if a.tiles != nil {
		a.multiplyTileColumns(w, w.tiles.p, v.tiles.doutPairs, s, w.dv[at:])
		a.multiplyTileColumns(w, w.tiles.ds, v.tiles.queryPairs, s, w.dk[at:])
		return
	}
	// dv [keys, Dh] += P^T [keys, queries] dout [queries, Dh]
	a.multiplyColumns(w.scores, v.dout, 1, s, w.dv[at:])
	// dk [keys, Dh] += Scale * dS^T [keys, queries] q [queries, Dh]
	a.multiplyColumns(w.dscores, v.q, T(a.d.Scale), s, w.dk[at:])
}

// addQueries adds a span's part to dq [queries, Dh], or overwrites dq if add is false.
func (a *Attention[T]) addQueries(w *attentionWorker[T], v *attentionView[T], s attentionSpan, dq []T, add bool) {
	// dq [queries, Dh] += Scale * dS [queries, keys] k [keys, Dh]
	if a.tiles != nil {
		a.multiplyTileRows(w, w.tiles.ds, v.shared.tiles.keyPairs, s, dq, add)
		return
	}
	a.multiplyRows(w.dscores, v.k, T(a.d.Scale), s, dq, add)
}

// writeKeys writes the worker's dk and dv of the tokens j0:j1 to dqkv, added to the sums over
// the group's earlier heads.
func (a *Attention[T]) writeKeys(w *attentionWorker[T], v *attentionView[T], j0, j1 int) {
	dim, n := a.d.HeadDim, j1-j0
	a.compact(w.dk, n)
	a.compact(w.dv, n)
	if a.rope.base != 0 {
		for j := range n {
			a.rope.rotateBack(w.dk[j*dim:][:dim], j0+j)
		}
	}
	if a.d.group() == 1 {
		a.dqkv.writeRows(a.rows, w.dk, v.at.key(j0), v.at.packedWidth, dim, n)
		a.dqkv.writeRows(a.rows, w.dv, v.at.value(j0), v.at.packedWidth, dim, n)
		return
	}
	for j := range n {
		a.writeShared(v, w.dk[j*dim:][:dim], w.groupKeys, v.at.key(j0+j), j0+j)
		a.writeShared(v, w.dv[j*dim:][:dim], w.groupValues, v.at.value(j0+j), j0+j)
	}
}

// writeShared writes a row of dk or dv of token j to dqkv, at index at, added to the sum over
// the group's earlier heads. If dqkv is bfloat16, sums holds the sum in float32.
func (a *Attention[T]) writeShared(v *attentionView[T], row, sums []T, at, j int) {
	if !a.sumsGroups() {
		sums, j = a.dqkv.floats[at:], 0
	}
	sum := sums[j*len(row):][:len(row)]
	if v.firstOfGroup(&a.d) {
		copy(sum, row)
	} else {
		addRow(sum, row)
	}
	if a.sumsGroups() && (v.head+1)%a.d.group() == 0 {
		a.dqkv.write(a.rows, sum, at)
	}
}

// sumsGroups tells whether workers keep the sums of dk and dv over a group's heads in memory of
// their own, because dqkv is bfloat16.
func (a *Attention[T]) sumsGroups() bool { return a.d.group() > 1 && a.dqkv.halves != nil }

// addRow adds x to the first entries of y.
func addRow[T Float](y, x []T) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += v
	}
}

// writeQueries writes the worker's dq of the tokens i0:i1 to dqkv.
func (a *Attention[T]) writeQueries(w *attentionWorker[T], v *attentionView[T], i0, i1 int) {
	dim := a.d.HeadDim
	a.compact(w.dq, i1-i0)
	if a.rope.base != 0 {
		for i := i0; i < i1; i++ {
			a.rope.rotateBack(w.dq[(i-i0)*dim:][:dim], i)
		}
	}
	a.dqkv.writeRows(a.rows, w.dq, v.at.query(i0), v.at.packedWidth, dim, i1-i0)
}
