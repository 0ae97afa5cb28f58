package kernel

// attentionSpan is a rectangle of scores: those of the queries i0:i1 (tokens) with the
// keys j0:j1 (positions), of which the last query sees the last. Its products leave out
// what lies beyond the diagonal, up to the size of a micro-kernel's tile. In a worker's
// memory row r and column c of it belong to query i0+r and key j0+c.
// past is the position of token 0.
type attentionSpan struct{ i0, i1, j0, j1, past int }

// columns is the number of keys.
func (s attentionSpan) columns() int { return s.j1 - s.j0 }

// attentionTileRows is at least the height of every micro-kernel's tile.
const attentionTileRows = 16

// keyScores sets the worker's scores [queries, keys] = Scale * q [queries, Dh] k^T [Dh, keys].
func (a *Attention[T]) keyScores(w *attentionWorker[T], v attentionView[T], s attentionSpan) {
	if a.packsKeys() {
		a.multiplyPanels(w.scores, v.q, v.shared.keyPanels, T(a.d.Scale), s)
		return
	}
	width, dim := a.kernels.width(), a.d.HeadDim
	for j := s.j0; j < s.j1; j += width {
		part := attentionSpan{s.i0, s.i1, j, min(j+width, s.j1), s.past}
		a.packPanel(w.panel, v.k[j*dim:], dim, part.columns())
		a.multiplyPanel(w.scores[j-s.j0:], v.q, w.panel, T(a.d.Scale), part)
	}
}

// multiplyPanels sets scores [queries, keys] = alpha * x [queries, Dh] y^T [Dh, keys] for
// x [seq, Dh] and y^T in panels from position 0 on.
func (a *Attention[T]) multiplyPanels(scores, x, panels []T, alpha T, s attentionSpan) {
	width := a.kernels.width()
	for j := s.j0; j < s.j1; {
		inside := j % width
		part := attentionSpan{s.i0, s.i1, j, min(j-inside+width, s.j1), s.past}
		a.multiplyPanel(scores[j-s.j0:], x, panels[(j-inside)*a.d.HeadDim+inside:], alpha, part)
		j = part.j1
	}
}

// multiplyPanel is multiplyPanels for keys of one panel; the queries that see none of
// them are left out.
func (a *Attention[T]) multiplyPanel(scores, x, panel []T, alpha T, s attentionSpan) {
	dim := a.d.HeadDim
	r := max(s.j0-s.past-s.i0, 0)
	b := block[T]{kernels: a.kernels, m: s.i1 - s.i0 - r, n: s.columns()}
	b.tile = tile[T]{
		k: dim, alpha: alpha,
		a: &x[(s.i0+r)*dim], as: dim,
		b: &panel[0], bs: a.kernels.width(),
		c: &scores[r*attentionStride], cs: attentionStride,
	}
	b.tile.d = b.tile.c
	b.run()
}

// multiplyRows computes y [queries, Dh] (+)= alpha * scores [queries, keys] x [keys, Dh]
// for x [positions, Dh], in tiles of queries, each over the keys that its last one sees.
func (a *Attention[T]) multiplyRows(scores, x []T, alpha T, s attentionSpan, y []T, add bool) {
	rows, dim := s.i1-s.i0, a.d.HeadDim
	height := a.tileHeight(rows)
	b := a.rowsBlock(alpha, add)
	b.tile.as = attentionStride
	b.tile.b = &x[s.j0*dim]
	for r := 0; r < rows; r += height {
		b.m = min(height, rows-r)
		b.tile.k = min(s.j1, s.past+s.i0+r+b.m) - s.j0
		if b.tile.k <= 0 { // keys that come after these queries; only where add is set
			continue
		}
		b.tile.a = &scores[r*attentionStride]
		b.tile.c = &y[r*dim]
		b.tile.d = b.tile.c
		b.run()
	}
}

// multiplyColumns computes y [keys, Dh] (+)= alpha * scores^T [keys, queries] x [queries,
// Dh] for x [seq, Dh]: it adds for the keys before the block of queries, and sets those
// in it. Each tile of keys runs over the queries that see its first one.
func (a *Attention[T]) multiplyColumns(scores, x []T, alpha T, s attentionSpan, y []T) {
	dim := a.d.HeadDim
	before := min(max(s.i0-s.j0, 0), s.columns())
	if before > 0 {
		a.multiplyTile(scores, x[s.i0*dim:], alpha, y, before, s.i1-s.i0, true)
	}
	if before == s.columns() {
		return
	}
	height := a.tileHeight(s.columns() - before)
	for c := before; c < s.columns(); c += height {
		r := s.j0 + c - s.i0
		a.multiplyTile(scores[r*attentionStride+c:], x[(s.i0+r)*dim:], alpha, y[c*dim:],
			min(height, s.columns()-c), s.i1-s.i0-r, false)
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

// rowsBlock is a block whose B and C are rows of Dh elements, all but its sizes and places.
func (a *Attention[T]) rowsBlock(alpha T, add bool) block[T] {
	b := block[T]{kernels: a.kernels, n: a.d.HeadDim, panel: a.kernels.width()}
	b.tile = tile[T]{bs: a.d.HeadDim, cs: a.d.HeadDim, alpha: alpha}
	if add {
		b.tile.beta = 1
	}
	return b
}

// tileHeight divides rows, at least one, evenly over tiles of one panel of Dh columns.
func (a *Attention[T]) tileHeight(rows int) int {
	vecs := min((a.d.HeadDim+a.kernels.lanes-1)/a.kernels.lanes, a.kernels.vecs)
	return evenly(rows, a.kernels.rows[vecs], 1)
}
