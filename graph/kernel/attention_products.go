package kernel

// attentionSpan is a rectangle of scores: the queries i0:i1 (tokens) with the keys j0:j1
// (positions). Its last query sees its last key. Products with it skip the keys beyond the
// diagonal, except for the rest of a micro-kernel's tile. In a worker's memory its row r and column
// c belong to query i0+r and key j0+c. past is the position of token 0. window, if above 0, is the
// largest number of keys, up to its own, that a query sees: the products also skip the keys before
// them.
type attentionSpan struct{ i0, i1, j0, j1, past, window int }

// columns returns the number of keys.
func (s attentionSpan) columns() int { return s.j1 - s.j0 }

// columnsOf returns the part of the span with the keys j0:j1.
func (s attentionSpan) columnsOf(j0, j1 int) attentionSpan {
	s.j0, s.j1 = j0, j1
	return s
}

// rowsSeeing returns the number of rows up to the last one that sees a key before position end.
func (s attentionSpan) rowsSeeing(end int) int {
	if s.window == 0 {
		return s.i1 - s.i0
	}
	return max(0, min(s.i1, end-1+s.window-s.past)-s.i0)
}

// firstColumn returns the first column that row r, and so any row after it, may see.
func (s attentionSpan) firstColumn(r int) int {
	if s.window == 0 {
		return 0
	}
	return max(0, s.past+s.i0+r+1-s.window-s.j0)
}

// attentionTileRows is an upper bound of the height of every micro-kernel's tile.
const attentionTileRows = 16

// keyScores computes the worker's scores [queries, keys] = Scale * q [queries, Dh] k^T [Dh, keys],
// bounded if there is a soft cap; with tiles, Scale is left to the functions for rows.
func (a *Attention[T]) keyScores(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	a.keyProducts(w, v, s)
	if a.d.SoftCap > 0 {
		a.capScores(w, s)
	}
}

// keyProducts computes the scores without a soft cap.
func (a *Attention[T]) keyProducts(w *attentionWorker[T], v *attentionView[T], s attentionSpan) {
	if a.tiles != nil {
		a.multiplyTilePanels(w, w.scores, v.tiles.q, v.shared.tiles.keyPanels, s)
		return
	}
	if a.packsKeys() {
		a.multiplyPanels(w.scores, v.q, v.shared.keyPanels, T(a.d.Scale), s)
		return
	}
	width, dim := a.kernels.width(), a.d.HeadDim
	for j := s.j0 + a.queryScores(w, v, s); j < s.j1; j += width {
		part := s.columnsOf(j, min(j+width, s.j1))
		a.packPanel(w.panel, v.k[j*dim:], dim, part.columns())
		a.multiplyPanel(w.scores[j-s.j0:], v.q, w.panel, width, T(a.d.Scale), part)
	}
}

// queryScores computes the scores of a single query, as in decoding. It reads the rows of k in
// place, without packing them, and gives the same bits as the panels do. It returns the number
// of keys that it has scored, a multiple of gemvRows; 0 if the fast kernel cannot be used.
func (a *Attention[T]) queryScores(w *attentionWorker[T], v *attentionView[T], s attentionSpan) int {
	dim := a.d.HeadDim
	if s.i1-s.i0 > 1 || a.kernels.path == portable || dim%8 != 0 {
		return 0
	}
	whole := s.columns() / gemvRows * gemvRows
	q := product[T]{m: 1, n: whole, k: dim, alpha: T(a.d.Scale), a: v.q[s.i0*dim:], lda: dim, b: v.k[s.j0*dim:], ldb: dim, c: w.scores, ldc: attentionStride}
	q.sumColumns(whole, dim, w.panel)
	return whole
}

// multiplyPanels computes scores [queries, keys] = alpha * x [queries, Dh] y^T [Dh, keys] for x
// [seq, Dh] and y^T in panels that begin with position 0.
func (a *Attention[T]) multiplyPanels(scores, x, panels []T, alpha T, s attentionSpan) {
	width := a.kernels.width()
	for j := s.j0; j < s.j1; {
		inside := j % width
		part := s.columnsOf(j, min(j-inside+width, s.j1))
		a.multiplyPanel(scores[j-s.j0:], x, panels[(j-inside)*a.d.HeadDim+inside:], width-inside, alpha, part)
		j = part.j1
	}
}

// multiplyPanel does what multiplyPanels does, for the keys of one panel; it skips the queries
// that see none of them. It fills whole vectors of scores, if the panel has that many columns left:
// a row of scores has room for them, and nobody reads them.
func (a *Attention[T]) multiplyPanel(scores, x, panel []T, columns int, alpha T, s attentionSpan) {
	dim, lanes := a.d.HeadDim, a.kernels.lanes
	r := max(s.j0-s.past-s.i0, 0)
	whole := (s.columns() + lanes - 1) / lanes * lanes
	b := block[T]{kernels: a.kernels, m: s.rowsSeeing(s.j1) - r, n: min(whole, columns)}
	if b.m <= 0 {
		return
	}
	b.tile = tile[T]{
		k: dim, alpha: alpha,
		a: &x[(s.i0+r)*dim], as: dim,
		b: &panel[0], bs: a.kernels.width(),
		c: &scores[r*attentionStride], cs: attentionStride,
	}
	b.tile.d = b.tile.c
	b.run()
}

// multiplyRows computes y [queries, Dh] (+)= alpha * scores [queries, keys] x [keys, Dh] for x
// [positions, Dh], in tiles of queries, each over the keys that the last query of the tile sees.
func (a *Attention[T]) multiplyRows(scores, x []T, alpha T, s attentionSpan, y []T, add bool) {
	rows, dim := s.i1-s.i0, a.d.HeadDim
	height := a.tileHeight(rows)
	b := a.rowsBlock(alpha, add)
	b.tile.as = attentionStride
	for r := 0; r < rows; r += height {
		c := s.firstColumn(r)
		b.m = min(height, rows-r)
		b.tile.k = min(s.j1, s.past+s.i0+r+b.m) - s.j0 - c
		if b.tile.k <= 0 { // none of these queries sees any of the keys
			if !add {
				clear(y[r*dim:][:b.m*dim])
			}
			continue
		}
		b.tile.b = &x[(s.j0+c)*dim]
		b.tile.a = &scores[r*attentionStride+c]
		b.tile.c = &y[r*dim]
		b.tile.d = b.tile.c
		b.run()
	}
}

// multiplyColumns computes y [keys, Dh] (+)= alpha * scores^T [keys, queries] x [queries, Dh] for x
// [seq, Dh]: it adds to y for the keys before the block of queries, and overwrites y for those in
// it. Each tile of keys runs over the queries that see its first key or, with a window, any of its
// keys.
func (a *Attention[T]) multiplyColumns(scores, x []T, alpha T, s attentionSpan, y []T) {
	dim := a.d.HeadDim
	before := min(max(s.i0-s.j0, 0), s.columns())
	step := before
	if s.window > 0 {
		step = a.tileHeight(max(before, 1))
	}
	for c := 0; c < before; c += step {
		keys := min(step, before-c)
		if queries := s.rowsSeeing(s.j0 + c + keys); queries > 0 {
			a.multiplyTile(scores[c:], x[s.i0*dim:], alpha, y[c*dim:], keys, queries, true)
		}
	}
	if before == s.columns() {
		return
	}
	height := a.tileHeight(s.columns() - before)
	for c := before; c < s.columns(); c += height {
		r, keys := s.j0+c-s.i0, min(height, s.columns()-c)
		a.multiplyTile(scores[r*attentionStride+c:], x[(s.i0+r)*dim:], alpha, y[c*dim:],
			keys, s.rowsSeeing(s.j0+c+keys)-r, false)
	}
}

// multiplyTile computes y [keys, Dh] (+)= alpha * scores^T [keys, queries] x [queries, Dh].
func (a *Attention[T]) multiplyTile(scores, x []T, alpha T, y []T, keys, queries int, add bool) {
	b := a.rowsBlock(alpha, add)
	b.m, b.transposed = keys, true
	b.tile.k, b.tile.as = queries, attentionStride
	b.tile.a, b.tile.b, b.tile.c, b.tile.d = &scores[0], &x[0], &y[0], &y[0]
	b.run()
}

// rowsBlock returns a block whose B and C are rows of Dh elements; its sizes and addresses are
// still to be set.
func (a *Attention[T]) rowsBlock(alpha T, add bool) block[T] {
	b := block[T]{kernels: a.kernels, n: a.d.HeadDim, panel: a.kernels.width()}
	b.tile = tile[T]{bs: a.d.HeadDim, cs: a.d.HeadDim, alpha: alpha}
	if add {
		b.tile.beta = 1
	}
	return b
}

// tileHeight divides rows, of which there is at least one, evenly into tiles over one panel of Dh
// columns, and returns their height.
func (a *Attention[T]) tileHeight(rows int) int {
	vecs := min((a.d.HeadDim+a.kernels.lanes-1)/a.kernels.lanes, a.kernels.vecs)
	return evenly(rows, a.kernels.rows[vecs], 1)
}
