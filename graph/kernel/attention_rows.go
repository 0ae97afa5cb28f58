package kernel

// scoreRows is the number of rows of scores that one call of the functions below handles: enough to
// keep the processor busy while each row waits for its own results, and few enough that what has
// been prefetched for them stays in the first-level cache.
const scoreRows = 16

// scoreRow is a row of scores. The assembly of the functions below reads the float32 form by offset
// (see internal/vecgen). They may overwrite attentionTileRows elements after a row's last.
type scoreRow[T Float] struct {
	at, n   int // first element and number of elements
	far     T   // distance of the query from the first key
	shift   T   // what is subtracted before exp: the largest logit, or lse
	delta   T   // see softmaxGradient
	largest T   // a result
	sum     float64
}

// distancesMaxRows does what distancesMax does, for each row multiplied by scale, and sets largest.
func distancesMaxRows[T Float](p path, rows []scoreRow[T], x []T, scale, slope T) {
	if p > portable {
		fastDistancesMaxRows(p, rows, x, scale, slope)
		return
	}
	for i := range rows {
		r := &rows[i]
		if scale != 1 {
			scaleRow(p, x[r.at:][:r.n], scale)
		}
		r.largest = distancesMax(p, x[r.at:][:r.n], float64(slope), int(r.far))
	}
}

// expRows does what attentionExp does, for each row, and sets sum. It clears attentionTileRows
// elements after the end of each row.
func expRows[T Float](p path, rows []scoreRow[T], x []T) {
	if p > portable {
		fastExpSingleRows(p, rows, x)
		return
	}
	for i := range rows {
		r := &rows[i]
		r.sum = attentionExp(p, x[r.at:][:r.n], r.shift)
		clear(x[r.at+r.n:][:attentionTileRows])
	}
}

// softmaxGradientRows does what softmaxGradient does, for each row, with x multiplied by scale. It
// clears attentionTileRows elements after the end of each row of x and dp.
func softmaxGradientRows[T Float](p path, rows []scoreRow[T], x, dp []T, scale, slope T) {
	if p > portable {
		fastSoftmaxGradientRows(p, rows, x, dp, scale, slope)
		return
	}
	for i := range rows {
		r := &rows[i]
		if scale != 1 {
			scaleRow(p, x[r.at:][:r.n], scale)
		}
		softmaxGradient(p, x[r.at:][:r.n], dp[r.at:][:r.n], float64(slope), int(r.far), r.shift, r.delta)
		clear(x[r.at+r.n:][:attentionTileRows])
		clear(dp[r.at+r.n:][:attentionTileRows])
	}
}
