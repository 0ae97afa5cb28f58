package kernel

import "math"

// softmaxRows turns the scores of a span into exp(logit - largest so far), 0 where a query
// sees nothing, and rescales the rows' sums if the largest logit has changed.
func (a *Attention[T]) softmaxRows(w *attentionWorker[T], v attentionView[T], s attentionSpan) {
	for r := range s.i1 - s.i0 {
		a.prefetchRow(v, s.i0+r)
		visible := a.visible(w.scores, v.row, s, r)
		for _, part := range visible {
			if len(part.x) == 0 {
				continue
			}
			if m := distancesMax(a.rows, part.x, v.slope, part.far); m > w.largest[r] {
				w.shrinkRow(a.rows, r, a.d.HeadDim, m)
			}
		}
		for _, part := range visible {
			if len(part.x) > 0 {
				w.sums[r] += attentionExp(a.rows, part.x, w.largest[r])
			}
		}
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

// seenScores holds scores of consecutive keys that a query sees, and its distance from the first of
// them.
type seenScores[T Float] struct {
	x   []T
	far int
}

// visible returns the parts of row r that its query sees: the sinks before its window, and the
// window. It clears the other entries of the row that the products read: before and between those
// parts, and after them to the end of a micro-kernel's tile.
func (a *Attention[T]) visible(scores []T, batch int, s attentionSpan, r int) [2]seenScores[T] {
	row := scores[r*attentionStride:][:s.columns()]
	pos := s.past + s.i0 + r
	sight := a.d.sight(a.start(batch, s.i0+r), pos)
	lo := min(max(sight.first-s.j0, 0), len(row))
	hi := min(max(pos+1-s.j0, lo), len(row))
	from := min(max(sight.start-s.j0, 0), lo)
	to := min(max(sight.sinks-s.j0, from), lo)
	clear(row[:from])
	clear(row[to:lo])
	clear(row[hi:min(hi+attentionTileRows, len(row))])
	return [2]seenScores[T]{{row[from:to], pos - s.j0 - from}, {row[lo:hi], pos - s.j0 - lo}}
}

// finish divides the rows of a block by their sums and writes out and lse.
func (a *Attention[T]) finish(w *attentionWorker[T], v attentionView[T], i0, i1 int) {
	dim := a.d.HeadDim
	for i := i0; i < i1; i++ {
		r := i - i0
		at := a.outRow(v.row, v.head, i)
		sum := w.sum[r*dim:][:dim]
		out := a.out.target(sum, at, dim)
		scaleTo(a.rows, out, sum, T(1/w.sums[r]))
		a.out.write(a.rows, out, at)
		if a.lse != nil {
			a.lse[v.pair*a.d.Seq+i] = T(float64(w.largest[r]) + math.Log(w.sums[r]))
		}
	}
}

// gradientRows turns the scores of a span into P, and the worker's dscores from dP into dS.
func (a *Attention[T]) gradientRows(w *attentionWorker[T], v attentionView[T], s attentionSpan) {
	lse := a.lse[v.pair*a.d.Seq:][:a.d.Seq]
	for r := range s.i1 - s.i0 {
		a.prefetchRow(v, s.i0+r)
		visible, dvisible := a.visible(w.scores, v.row, s, r), a.visible(w.dscores, v.row, s, r)
		for i, part := range visible {
			if len(part.x) > 0 {
				softmaxGradient(a.rows, part.x, dvisible[i].x, v.slope, part.far, lse[s.i0+r], v.deltas[s.i0+r])
			}
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
		fastSoftmaxGradient(p, x, dp, T(slope), T(far), lse, delta)
		return
	}
	addDistances(x, slope, far)
	softmaxExp(p, x, lse)
	for i, d := range dp[:len(x)] {
		dp[i] = x[i] * (d - delta)
	}
}
