package kernel

// Pattern writes the probabilities of Forward's softmax to prob [batch, heads, seq,
// seq] (query, then key), 0 where a query does not see a key. It is meant for looking
// at attention: the whole matrix is in memory.
func (a *Attention[T]) Pattern(p *Pool, prob, qkv []T, starts []int32, d AttentionParams) {
	defer a.release()
	a.d, a.starts = d, starts
	a.prob, a.qkv = prob, qkv
	pairs := d.Batch * d.Heads
	a.plan(p, pairs)
	p.Do(pairs, (*attentionPatternPairs[T])(a))
}

// attentionPatternPairs gives every worker whole (batch, head) pairs.
type attentionPatternPairs[T Float] Attention[T]

func (t *attentionPatternPairs[T]) Part(worker, lo, hi int) {
	a := (*Attention[T])(t)
	for pair := lo; pair < hi; pair++ {
		v := a.view(pair, worker)
		a.prepare(v, 0, a.d.Seq)
		// logits [seq, seq] = Scale * q [seq, Dh] k^T [Dh, seq]
		logits := a.prob[pair*a.d.Seq*a.d.Seq:][:a.d.Seq*a.d.Seq]
		a.workers[worker].gemm.Run(false, true, a.d.Seq, a.d.Seq, a.d.HeadDim, T(a.d.Scale), v.q, a.d.HeadDim, v.k, a.d.HeadDim, 0, logits, a.d.Seq)
		for i := range a.d.Seq {
			a.patternRow(v, logits[i*a.d.Seq:][:a.d.Seq], i)
		}
	}
}

// patternRow turns the logits of query i into probabilities.
func (a *Attention[T]) patternRow(v attentionView[T], row []T, i int) {
	visible := row[a.start(v.row, i) : i+1]
	clear(row[:i+1-len(visible)])
	clear(row[i+1:])
	largest := distancesMax(a.rows, visible, v.slope, len(visible)-1)
	sum := softmaxExp(a.rows, visible, largest)
	scaleRow(a.rows, visible, T(1/sum))
}
