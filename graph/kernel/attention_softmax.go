package kernel

import "math"

// softmaxRows turns the scores of a span into exp(logit - largest so far), 0 where a query
// sees nothing, and rescales the rows' sums if the largest logit has changed.
func (a *Attention[T]) softmaxRows(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	for r := range s.i1 - s.i0 {
		a.prefetchRow(v, s.i0+r)
		seen := a.seen(v.row, s, r)
		row := w.scores[r*attentionStride:][:s.columns()]
		sinks, window := seenParts(row, &seen)
		if len(sinks) > 0 {
			w.raise(a.rows, r, a.d.HeadDim, distancesMax(a.rows, sinks, v.slope, seen.own-seen.sinks.j0))
		}
		if len(window) > 0 {
			w.raise(a.rows, r, a.d.HeadDim, distancesMaxPadded(a.rows, window, v.slope, seen.own-seen.window.j0))
		}
		if len(sinks) > 0 {
			w.sums[r] += attentionExp(a.rows, sinks, w.largest[r])
		}
		if len(window) > 0 {
			w.sums[r] += attentionExpPadded(a.rows, window, w.largest[r])
		}
		clearUnseenColumns(row, &seen)
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

// seenParts returns the entries of the row that the query sees.
func seenParts[T Float](row []T, c *seenColumns) (sinks, window []T) {
	return row[c.sinks.j0:c.sinks.j1], row[c.window.j0:c.window.j1]
}

// clearUnseenColumns clears the other entries of the row that the products read: before and between the
// parts, and after them to the end of a micro-kernel's tile.
func clearUnseenColumns[T Float](row []T, c *seenColumns) {
	if c.window.j0 > 0 {
		clear(row[:c.sinks.j0])
		clear(row[c.sinks.j1:c.window.j0])
	}
	clear(row[c.window.j1:min(c.window.j1+attentionTileRows, len(row))])
}

// finish divides the rows of a block by their sums and writes out and lse.
func (a *Attention[T]) finish(w *attentionWorker[T], v attentionView[T], i0, i1 int) {
	dim := a.d.HeadDim
	for i := i0; i < i1; i++ {
		r := i - i0
		at := v.at.outRow(i)
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
func (a *Attention[T]) gradientRows(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	lse := a.lse[v.pair*a.d.Seq:][:a.d.Seq]
	for r := range s.i1 - s.i0 {
		i := s.i0 + r
		a.prefetchRow(v, i)
		seen := a.seen(v.row, s, r)
		p, dp := w.scores[r*attentionStride:][:s.columns()], w.dscores[r*attentionStride:][:s.columns()]
		sinks, window := seenParts(p, &seen)
		dsinks, dwindow := seenParts(dp, &seen)
		if len(sinks) > 0 {
			softmaxGradient(a.rows, sinks, dsinks, v.slope, seen.own-seen.sinks.j0, lse[i], v.deltas[i])
		}
		if len(window) > 0 {
			softmaxGradientPadded(a.rows, window, dwindow, v.slope, seen.own-seen.window.j0, lse[i], v.deltas[i])
		}
		clearUnseenColumns(p, &seen)
		clearUnseenColumns(dp, &seen)
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

// attentionExpPadded does the same for a row in padded memory: it may overwrite the elements up to
// a vector's end beyond x.
func attentionExpPadded[T Float](p path, x []T, shift T) float64 {
	if p > portable {
		return fastExpSinglePadded(p, x, shift)
	}
	return softmaxExp(p, x, shift)
}

// distancesMaxPadded does what distancesMax does, for a row in padded memory.
func distancesMaxPadded[T Float](p path, x []T, slope float64, far int) T {
	if p > portable && slope != 0 {
		return fastDistancesMaxPadded(p, x, T(slope), T(far))
	}
	return distancesMax(p, x, slope, far)
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

// softmaxGradientPadded does what softmaxGradient does, for rows in padded memory.
func softmaxGradientPadded[T Float](p path, x, dp []T, slope float64, far int, lse, delta T) {
	if p > portable {
		fastSoftmaxGradientPadded(p, x, dp, T(slope), T(far), lse, delta)
		return
	}
	softmaxGradient(p, x, dp, slope, far, lse, delta)
}
