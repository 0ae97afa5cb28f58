package kernel

import "math"

// softmaxRows turns the scores of a span into exp(logit - largest so far), 0 where a query
// sees nothing, and rescales the rows' sums if the largest logit has changed.
func (a *Attention[T]) softmaxRows(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	for first := 0; first < s.i1-s.i0; first += scoreRows {
		rows := a.windows(w, v, s, first)
		distancesMaxRows(a.rows, rows, w.scores, a.scoreScale(), T(v.slope))
		for i := range rows {
			r := first + i
			if a.d.hasSinks() {
				sinks, far := a.sinks(w.scores, v.row, s, r)
				w.raise(a.rows, r, a.sumDim, distancesMax(a.rows, sinks, v.slope, far))
			}
			w.raise(a.rows, r, a.sumDim, rows[i].largest)
			rows[i].shift = w.largest[r]
		}
		expRows(a.rows, rows, w.scores)
		for i := range rows {
			r := first + i
			if a.d.hasSinks() {
				sinks, _ := a.sinks(w.scores, v.row, s, r)
				w.sums[r] += attentionExp(a.rows, sinks, w.largest[r])
			}
			w.sums[r] += rows[i].sum
			a.clearUnseen(w.scores, &rows[i], v.row, s, r)
		}
	}
}

// raise rescales what has been summed for a row if m is its new largest logit.
func (w *attentionWorker[T]) raise(p path, r, dim int, m T) {
	if m > w.largest[r] {
		w.shrinkRow(p, r, dim, m)
	}
}

// shrinkRow rescales what has been summed for a row to its new largest logit.
func (w *attentionWorker[T]) shrinkRow(p path, r, dim int, largest T) {
	if w.sums[r] != 0 {
		shrink := expT(w.largest[r] - largest)
		w.sums[r] *= float64(shrink)
		scaleRow(p, w.sum[r*dim:][:dim], shrink)
	}
	w.largest[r] = largest
}

// seenColumns says which columns of a row of scores its query sees: the sinks before its window,
// and the window. own is the column of the query's own position, beyond the row if the span ends
// before it.
type seenColumns struct {
	sinks, window keyRange
	own           int
}

// seen returns the columns that the query of row r of a span sees.
func (a *Attention[T]) seen(batch int, s attentionSpan, r int) seenColumns {
	columns, pos, begin := s.columns(), s.past+s.i0+r, a.start(batch, s.i0+r)
	own := pos - s.j0
	if a.d.Window <= 0 {
		first := min(max(begin-s.j0, 0), columns)
		return seenColumns{sinks: keyRange{first, first}, window: keyRange{first, min(max(own+1, first), columns)}, own: own}
	}
	sight := a.d.sight(begin, pos)
	first := min(max(sight.first-s.j0, 0), columns)
	start := min(max(sight.start-s.j0, 0), first)
	return seenColumns{
		sinks:  keyRange{start, min(max(sight.sinks-s.j0, start), first)},
		window: keyRange{first, min(max(own+1, first), columns)},
		own:    own,
	}
}

// windows returns the windows of the next rows of a span, from row first on.
func (a *Attention[T]) windows(w *attentionWorker[T], v *attentionView[T], s attentionSpan, first int) []scoreRow[T] {
	rows := w.rows[:min(scoreRows, s.i1-s.i0-first)]
	a.prefetchTokens(v, s.i0+first, len(rows))
	if a.starts == nil && a.d.Window <= 0 { // every query sees all keys up to its own
		for i := range rows {
			r := first + i
			own := s.past + s.i0 + r - s.j0
			rows[i].at, rows[i].n, rows[i].far = r*attentionStride, min(max(own+1, 0), s.columns()), T(own)
		}
		return rows
	}
	for i := range rows {
		r := first + i
		seen := a.seen(v.row, s, r)
		rows[i].at, rows[i].n = r*attentionStride+seen.window.j0, seen.window.j1-seen.window.j0
		rows[i].far = T(seen.own - seen.window.j0)
	}
	return rows
}

// sinks returns the scores of the sinks of row r, and the query's distance from the first.
func (a *Attention[T]) sinks(scores []T, batch int, s attentionSpan, r int) (x []T, far int) {
	seen := a.seen(batch, s, r)
	return scores[r*attentionStride:][seen.sinks.j0:seen.sinks.j1], seen.own - seen.sinks.j0
}

// clearUnseen clears the entries of row r before its query's window, except the sinks: products
// read them. The functions for lists of rows have cleared those after it.
func (a *Attention[T]) clearUnseen(scores []T, window *scoreRow[T], batch int, s attentionSpan, r int) {
	begin := r * attentionStride
	if window.at == begin {
		return
	}
	if a.d.hasSinks() {
		seen := a.seen(batch, s, r)
		clear(scores[begin:][:seen.sinks.j0])
		begin += seen.sinks.j1
	}
	clear(scores[begin:window.at])
}

// finish divides the rows of a block by their sums and writes out and lse.
func (a *Attention[T]) finish(w *attentionWorker[T], v *attentionView[T], i0, i1 int) {
	dim, rows := a.d.HeadDim, i1-i0
	sums := a.compact(w.sum, rows)
	for r := range rows {
		sum := sums[r*dim:][:dim]
		scaleTo(a.rows, sum, sum, T(1/w.sums[r]))
	}
	a.out.writeRows(a.rows, sums, v.at.outRow(i0), v.at.outWidth, dim, rows)
	if a.lse == nil {
		return
	}
	lse := a.lse[v.pair*a.d.Seq+i0:][:rows]
	for r := range lse {
		lse[r] = T(float64(w.largest[r]) + math.Log(w.sums[r]))
	}
}

// gradientRows turns the scores of a span into P, and the worker's dscores from dP into dS.
func (a *Attention[T]) gradientRows(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	lse := a.lse[v.pair*a.d.Seq:][:a.d.Seq]
	for first := 0; first < s.i1-s.i0; first += scoreRows {
		rows := a.windows(w, v, s, first)
		for i := range rows {
			rows[i].shift, rows[i].delta = lse[s.i0+first+i], v.deltas[s.i0+first+i]
		}
		softmaxGradientRows(a.rows, rows, w.scores, w.dscores, a.scoreScale(), T(v.slope))
		for i := range rows {
			r := first + i
			if a.d.hasSinks() {
				sinks, far := a.sinks(w.scores, v.row, s, r)
				dsinks, _ := a.sinks(w.dscores, v.row, s, r)
				softmaxGradient(a.rows, sinks, dsinks, v.slope, far, rows[i].shift, rows[i].delta)
			}
			a.clearUnseen(w.scores, &rows[i], v.row, s, r)
			a.clearUnseen(w.dscores, &rows[i], v.row, s, r)
		}
	}
}

// attentionExp does what softmaxExp does, for x <= shift. Where there are fast float32 lanes it
// uses them: results are within 1.1 units in the last place, and those below all normal numbers may
// be 0.
func attentionExp[T Float](p path, x []T, shift T) float64 {
	if p > portable {
		return fastExpSingle(p, x, shift)
	}
	return softmaxExp(p, x, shift)
}

// softmaxGradient subtracts slope times the distance of the keys from the logits x and turns them
// into the probabilities exp(x - lse). It turns dp, the gradient of the probabilities, into the
// gradient of the logits:
//
//	p_i = exp(x_i - slope * (far - i) - lse),  dx_i = p_i * (dp_i - delta)
//
// The fast form computes exp as attentionExp does.
func softmaxGradient[T Float](p path, x, dp []T, slope float64, far int, lse, delta T) {
	if p > portable {
		fastSoftmaxGradient(p, x, dp, 1, T(slope), T(far), lse, delta)
		return
	}
	addDistances(x, slope, far)
	softmaxExp(p, x, lse)
	for i, d := range dp[:len(x)] {
		dp[i] = x[i] * (d - delta)
	}
}
