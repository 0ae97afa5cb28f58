package kernel

import "unsafe"

// Attention on path amx: queries, keys, values, P, dout and dS are rounded to bfloat16 and
// multiplied by tiles, with sums, softmax and maxima in float32. The spans of queries and keys and
// all that happens to scores stay as on other paths; only the products differ. P and dS are
// zero where a query does not see a key, so products may take whole tiles of 16 queries and 32 keys
// up to the diagonal. An infinite key or value therefore also makes NaN of queries that do not see
// it, up to 31 tokens before it.

// attentionTileQueries is the number of queries of a block, a multiple of the 32 rows that a step
// of P^T dout takes.
const attentionTileQueries = 96

// attentionTileStride is the distance between rows of P and dS in bfloat16.
const attentionTileStride = attentionKeys + tileK

// attentionTileSlot holds the operands of one pair. Panels have the layout of PackedBFloat16: 32
// columns side by side, pairs of rows.
type attentionTileSlot struct {
	q, k, v, dout          []BFloat16 // [seq, Dh], with rows up to a multiple of 32
	keyPanels, valuePanels []float32  // k^T, v^T [Dh, seq]
	keyPairs, valuePairs   []float32  // k, v [seq, Dh]
	queryPairs, doutPairs  []float32  // q, dout [seq, Dh]
}

// attentionTileWorker is the scratch memory of one worker.
type attentionTileWorker struct {
	p, ds []BFloat16 // [attentionTileQueries, attentionTileStride]
	turns []BFloat16 // P^T or dS^T in tiles: [keys/16, queries/32, 16, 32]
	calls []tileBlock
}

// useTiles returns the micro-kernels that multiply by tiles, or nil: activations are float32, heads
// do not fill tiles, or there are sinks, whose keys two spans would share, a soft cap, or a cache,
// which holds float32.
func (a *Attention[T]) useTiles() *microkernels {
	kernels := pairKernelsOf(a.path)
	if !kernels.tiles || a.qkv.halves == nil || a.d.HeadDim%tileColumns != 0 || a.cache != nil || a.d.hasSinks() || a.d.SoftCap > 0 {
		return nil
	}
	return kernels
}

// planTiles allocates a slot's operands.
func (a *Attention[T]) planTiles(s *attentionTileSlot) {
	size := upToTile(a.d.Seq) * a.sumDim
	for _, rows := range []*[]BFloat16{&s.q, &s.k, &s.v} {
		*rows = grow(*rows, size)
	}
	s.keyPanels, s.valuePairs = grow(s.keyPanels, size/2), grow(s.valuePairs, size/2)
	if a.dqkv.none() {
		return
	}
	s.dout = grow(s.dout, size)
	for _, words := range []*[]float32{&s.valuePanels, &s.keyPairs, &s.queryPairs, &s.doutPairs} {
		*words = grow(*words, size/2)
	}
}

// planTileWorker allocates a worker's scratch memory.
func (a *Attention[T]) planTileWorker(w *attentionTileWorker) {
	w.p = grow(w.p, attentionTileQueries*attentionTileStride)
	w.calls = growKept(w.calls, max(attentionTileQueries, attentionKeys)/tileRows)
	if !a.dqkv.none() {
		w.ds = grow(w.ds, attentionTileQueries*attentionTileStride)
		w.turns = grow(w.turns, attentionTileQueries*attentionKeys)
	}
}

// prepareTiles rounds and packs the tokens i0:i1 of a pair, which start at a multiple of 32, for
// the products; with all also their keys and values.
func (a *Attention[T]) prepareTiles(v *attentionView[T], i0, i1 int, all bool) {
	s := &v.tiles
	rotated := a.rope.base != 0
	if rotated {
		a.roundRows(s.q, float32s(v.q), i0, i1)
	} else {
		a.copyTokenRows(s.q, v.at.query, i0, i1)
	}
	if all {
		if rotated {
			a.roundRows(s.k, float32s(v.keys), i0, i1)
		} else {
			a.copyTokenRows(s.k, v.at.key, i0, i1)
		}
		a.copyTokenRows(s.v, v.at.value, i0, i1)
		a.packTileColumns(s.keyPanels, s.k, i0, i1)
		a.packTilePairs(s.valuePairs, s.v, i0, i1)
	}
	if a.dqkv.none() {
		return
	}
	a.roundRows(s.dout, float32s(v.dout), i0, i1)
	a.packTilePairs(s.queryPairs, s.q, i0, i1)
	a.packTilePairs(s.doutPairs, s.dout, i0, i1)
	if all {
		a.packTileColumns(s.valuePanels, s.v, i0, i1)
		a.packTilePairs(s.keyPairs, s.k, i0, i1)
	}
}

// copyTokenRows copies the rows i0:i1 of queries, keys or values, of which row i begins at index
// at(i) of a.qkv. It fills up each row and the last tile with zeros.
func (a *Attention[T]) copyTokenRows(to []BFloat16, at func(i int) int, i0, i1 int) {
	for i := i0; i < i1; i++ {
		row := to[i*a.sumDim:][:a.sumDim]
		clear(row[copy(row, a.qkv.halves[at(i):][:a.d.HeadDim]):])
	}
	clear(to[i1*a.sumDim : upToTile(i1)*a.sumDim])
}

// roundRows rounds rows of from [seq, Dh].
func (a *Attention[T]) roundRows(to []BFloat16, from []float32, i0, i1 int) {
	dim := a.d.HeadDim
	for i := i0; i < i1; i++ {
		row := to[i*a.sumDim:][:a.sumDim]
		roundBFloat16(a.rows, row[:dim], from[i*dim:][:dim])
		clear(row[dim:])
	}
	clear(to[i1*a.sumDim : upToTile(i1)*a.sumDim])
}

// packTileColumns packs rows i0:i1 of x [seq, Dh] as columns of panels.
func (a *Attention[T]) packTileColumns(panels []float32, x []BFloat16, i0, i1 int) {
	words, half := wordsOf(x), a.sumDim/2
	for i := i0; i < i1; i += tilePanel {
		transpose(a.rows, panels[i*half:], tilePanel, words[i*half:], half, tilePanel, half)
	}
}

// packTilePairs packs rows i0:i1 of x [seq, Dh], and those up to a multiple of 32, as pairs of
// rows.
func (a *Attention[T]) packTilePairs(panels []float32, x []BFloat16, i0, i1 int) {
	dim, distance := a.sumDim, a.tilePairs()
	for i := i0; i < upToTile(i1); i += 2 {
		for j := 0; j < dim; j += tilePanel {
			to := panels[j/tilePanel*distance+i/2*tilePanel:][:tilePanel]
			interleave(a.rows, pairsOf(to), x[i*dim+j:][:tilePanel], x[(i+1)*dim+j:][:tilePanel])
		}
	}
}

// tilePairs returns the distance between panels of pairs of rows.
func (a *Attention[T]) tilePairs() int { return upToTile(a.d.Seq) / 2 * tilePanel }

// upToTile returns n, rounded up to a multiple of 32.
func upToTile(n int) int { return (n + tileK - 1) / tileK * tileK }

// tileColumns returns the columns that the rows r0:r1 of a span may see, in whole panels.
func (s attentionSpan) tileColumns(r0, r1 int) (first, end int) {
	first = s.firstColumn(r0) / tileK * tileK
	end = min(upToTile(s.columns()), upToTile(max(0, s.past+s.i0+r1-s.j0)))
	return first, max(first, end)
}

// multiplyTilePanels computes scores [queries, keys] = x [queries, Dh] y^T [Dh, keys], with y^T in
// panels.
func (a *Attention[T]) multiplyTilePanels(w *attentionWorker[T], scores []T, x []BFloat16, panels []float32, s attentionSpan) {
	dim, calls := a.sumDim, 0
	for r := 0; r < s.i1-s.i0; r += tileRows {
		c, end := s.tileColumns(r, r+tileRows)
		if c == end {
			continue
		}
		w.tiles.calls[calls] = tileBlock{
			a: unsafe.Pointer(&x[(s.i0+r)*dim]), as: 2 * dim, ak: tileBytes,
			b: unsafe.Pointer(&panels[(s.j0+c)*dim/2]), bs: 4 * tilePanel, bk: 2 * tileK * tilePanel, bn: 2 * dim * tilePanel,
			c: unsafe.Pointer(&scores[r*attentionStride+c]), cs: 4 * attentionStride, cn: 4 * tilePanel,
			steps: dim / tileK, blocks: (end - c) / tilePanel,
		}
		calls++
	}
	runTileBlocks(a.tiles, w.tiles.calls[:calls])
}

// scoreScale returns what the functions for rows multiply scores by.
func (a *Attention[T]) scoreScale() T {
	if a.tiles != nil {
		return T(a.d.Scale)
	}
	return 1
}

// roundScores rounds factor times the scores of a span to P or dS, with zeros where a query sees no
// key.
func (a *Attention[T]) roundScores(to []BFloat16, scores []float32, factor float32, s attentionSpan) {
	rows, first := s.i1-s.i0, s.past+s.i0+1-s.j0
	for r := 0; r < rows; r += tileK {
		_, end := s.tileColumns(0, r+tileK)
		if end == 0 {
			continue
		}
		n := min(tileK, rows-r)
		t := to[r*attentionTileStride:]
		roundRows(a.tiles, t, attentionTileStride, scores[r*attentionStride:], attentionStride, n, first+r, s.columns(), end, factor)
		for ; n < tileK; n++ {
			clear(t[n*attentionTileStride:][:end])
		}
	}
}

// roundRows rounds rows of scores, each multiplied by a factor, to rows of end elements, a multiple
// of 32. Row i has min(max(n+i, 0), limit) scores; zeros follow.
func roundRows(kernels *microkernels, to []BFloat16, ds int, from []float32, ss, rows, n, limit, end int, factor float32) {
	if !kernels.portable {
		fastRoundRows(to, ds, from, ss, rows, n, limit, end, factor)
		return
	}
	for i := range rows {
		row := to[i*ds:][:end]
		seen := min(max(n+i, 0), limit, end)
		for j, x := range from[i*ss:][:seen] {
			row[j] = toBFloat16(flushed(x * factor))
		}
		clear(row[seen:])
	}
}

// multiplyTileRows computes y [queries, Dh] (+)= p [queries, keys] x [keys, Dh] for P or dS and
// pairs of x's rows.
func (a *Attention[T]) multiplyTileRows(w *attentionWorker[T], p []BFloat16, pairs []float32, s attentionSpan, y []T, add bool) {
	dim, calls := a.sumDim, 0
	for r := 0; r < s.i1-s.i0; r += tileRows {
		c, end := s.tileColumns(r, r+tileRows)
		if c == end {
			if !add {
				clear(y[r*dim:][:tileRows*dim])
			}
			continue
		}
		w.tiles.calls[calls] = tileBlock{
			a: unsafe.Pointer(&p[r*attentionTileStride+c]), as: 2 * attentionTileStride, ak: tileBytes,
			b: unsafe.Pointer(&pairs[(s.j0+c)/2*tilePanel]), bs: 4 * tilePanel, bk: 2 * tileK * tilePanel, bn: 4 * a.tilePairs(),
			c: unsafe.Pointer(&y[r*dim]), d: unsafe.Pointer(&y[r*dim]), cs: 4 * dim, cn: 4 * tilePanel,
			steps: (end - c) / tileK, blocks: dim / tilePanel, keep: choose(add, 1, 0),
		}
		calls++
	}
	runTileBlocks(a.tiles, w.tiles.calls[:calls])
}

// multiplyTileColumns computes y [keys, Dh] (+)= p^T [keys, queries] x [queries, Dh] for P or dS:
// it adds to y for the keys before the block of queries, and overwrites y for those in it.
func (a *Attention[T]) multiplyTileColumns(w *attentionWorker[T], p []BFloat16, pairs []float32, s attentionSpan, y []T) {
	const tile = tileRows * tileK
	dim, steps := a.sumDim, upToTile(s.i1-s.i0)/tileK
	for t := range steps {
		_, end := s.tileColumns(0, (t+1)*tileK)
		if end > 0 {
			transposeTileRows(a.tiles, w.tiles.turns[t*tile:], steps*tile, p[t*tileK*attentionTileStride:], attentionTileStride, end/tileRows)
		}
	}
	before := max(s.i0-s.j0-s.past, 0)
	calls := w.tiles.calls[:(s.columns()+tileRows-1)/tileRows]
	for i := range calls {
		c := i * tileRows
		first := max(c-(s.i0-s.j0), 0) / tileK // step with the first query that sees the key
		calls[i] = tileBlock{
			a: unsafe.Pointer(&w.tiles.turns[(i*steps+first)*tile]), as: tileBytes, ak: 2 * tile,
			b: unsafe.Pointer(&pairs[(s.i0/2+first*tileK/2)*tilePanel]), bs: 4 * tilePanel, bk: 2 * tileK * tilePanel, bn: 4 * a.tilePairs(),
			c: unsafe.Pointer(&y[c*dim]), d: unsafe.Pointer(&y[c*dim]), cs: 4 * dim, cn: 4 * tilePanel,
			steps: steps - first, blocks: dim / tilePanel, keep: choose(c < before, 1, 0),
		}
	}
	runTileBlocks(a.tiles, calls)
}

// compact removes the room after each of n rows of Dh sums and returns the rows.
func (a *Attention[T]) compact(rows []T, n int) []T {
	dim := a.d.HeadDim
	if dim != a.sumDim {
		for i := 1; i < n; i++ {
			copy(rows[i*dim:][:dim], rows[i*a.sumDim:])
		}
	}
	return rows[:n*dim]
}
