package kernel

// A soft cap bounds the scores that queries see, c tanh(score/c), and multiplies their gradients by
// its derivative. Scores that a query does not see may hold anything, before and after.

// capScores bounds the scores of a span; in a Backward it keeps the derivatives in the worker's
// slopes.
func (a *Attention[T]) capScores(w *attentionWorker[T], s attentionSpan) {
	for r := range s.i1 - s.i0 {
		row := seenScores(w.scores, s, r)
		slopes := row
		if !a.dqkv.none() {
			slopes = seenScores(w.slopes, s, r)
		}
		softCapSlope(a.rows, row, slopes, row, a.d.SoftCap)
	}
}

// uncapGradients multiplies the gradients of a span's bounded scores by the derivatives.
func (a *Attention[T]) uncapGradients(w *attentionWorker[T], s attentionSpan) {
	for r := range s.i1 - s.i0 {
		multiplySeen(seenScores(w.dscores, s, r), seenScores(w.slopes, s, r))
	}
}

// multiplySeen multiplies dx by slopes, except where dx is 0: what is not seen has no slope.
func multiplySeen[T Float](dx, slopes []T) {
	for i, d := range dx {
		if d != 0 {
			dx[i] = d * slopes[i]
		}
	}
}

// seenScores returns the entries of row r of a span's scores that its query may see.
func seenScores[T Float](scores []T, s attentionSpan, r int) []T {
	first, end := s.firstColumn(r), min(s.columns(), max(0, s.past+s.i0+r+1-s.j0))
	return scores[r*attentionStride:][min(first, end):end]
}

// capRow bounds the logits that query i sees.
func (a *AttentionPattern[T]) capRow(logits []T, s attentionSight, i int) {
	for _, seen := range [2]keyRange{{s.start, s.sinks}, {s.first, i + 1}} {
		x := logits[seen.j0:seen.j1]
		softCap(a.rows, x, x, a.d.SoftCap)
	}
}

// uncapBlock multiplies the gradients ds of the bounded logits of queries i0:i1 by the derivatives
// of the bounds. It computes the logits again.
func (a *AttentionPattern[T]) uncapBlock(w *patternWorker[T], i0, i1 int) {
	dim, seq := a.d.HeadDim, a.d.Seq
	w.gemm.Run(nil, false, true, i1-i0, i1, dim, T(a.d.Scale), w.q[i0*dim:], dim, w.k, dim, 0, w.slopes, seq)
	for i := i0; i < i1; i++ {
		x := w.slopes[(i-i0)*seq:][:i+1]
		softCapSlope(a.rows, w.capped, x, x, a.d.SoftCap)
		multiplySeen(w.ds[(i-i0)*seq:][:i+1], x)
	}
}
