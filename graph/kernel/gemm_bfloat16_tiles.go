package kernel

import "unsafe"

// Sizes of the blocks that a product by AMX is divided into. 16 rows of A are read for a stripe of
// B, which stays in the second-level cache. All blocks of C lie along its rows: down its columns
// every row would be another page.
const (
	tileStripeB = 576 << 10 // elements of B in a stripe (1.1 MiB)
	tileStripeK = 512       // length of a part of k, so that 16 rows of A stay in the first-level cache
	tileBlockA  = 1 << 20   // elements of A that are packed at a time
	tileRowsA   = 4096      // rows of A whose ends are copied at a time
	tileStage   = 256       // columns whose sums are kept until they are final
	tileNarrow  = 64        // columns of a C that is computed down its columns
	tileDown    = 256       // rows of it at a time
	tileCall    = 8 << 20   // products of elements in a call, at most: some 20 microseconds
)

// tileProduct is a pairProduct by AMX on one goroutine. Each element of C is a sum over the whole
// of k in the order of sumTiles. If alpha and beta are 1 it begins at the old content (or addend),
// and otherwise it begins at zero, and C = alpha sum + beta C follows.
type tileProduct[C Stored] struct {
	pairProduct[C]
	packed  PackedBFloat16
	from    tilesOfA  // rows from first on
	first   int       // a row of C
	sums    []float32 // scratch memory
	staged  bool      // C is written row by row, from sums
	begins  bool      // sums begin at the old content
	columns int       // of a stripe
	cutK    int       // length of parts of k
}

// tilesOfA are rows of op(A) as tiles read them: in place, but for their last elements, which are
// copied to tail, or packed into tiles, each 16 rows of 32 elements, step after step.
type tilesOfA struct {
	a, tail    unsafe.Pointer
	as, ak, an int // bytes from row to row, from step to step, from 16 rows to the next
	steps      int
}

// runTiles computes the product with scratch memory from the arena.
func (q *pairProduct[C]) runTiles(b PackedBFloat16, scratch *arena) {
	t := tileProduct[C]{pairProduct: *q, packed: b, cutK: evenly(q.k, tileStripeK, tileK)}
	t.begins = q.alpha == 1 && q.beta == 1
	t.staged = q.rows != nil || !t.begins && (q.alpha != 1 || q.beta != 0) || t.begins && q.rounds()
	t.columns = min(max(tilePanel, tileStripeB/q.k/tilePanel*tilePanel), (q.n+tilePanel-1)/tilePanel*tilePanel)
	rows := evenly(q.m, choose(t.packsA(), max(tileRows, tileBlockA/q.k), tileRowsA), tileRows)
	spaceA, sums := carve[float32](scratch, t.sizeA(rows)/2, t.sizeSums())
	t.sums = sums
	for t.first = 0; t.first < q.m; t.first += rows {
		m := min(rows, q.m-t.first)
		t.placeA(pairsOf(spaceA), m)
		if !t.staged && q.n <= tileNarrow && q.k <= tileStripeK && !q.lower {
			t.down(m)
			continue
		}
		for j := 0; j < q.n; j += t.columns {
			for i := 0; i < m; i += tileRows {
				t.stripe(t.first+i, min(tileRows, m-i), j, min(q.n, j+t.columns))
			}
		}
	}
}

// packsA tells whether A is copied into tiles: if it is transposed, or if 16 of its rows would
// compete for the same lines of the first-level cache, whose sets repeat every 4 KiB.
func (t *tileProduct[C]) packsA() bool { return t.ta || t.lda%2048 == 0 }

// sizeA returns the number of elements of scratch memory that rows of A take.
func (t *tileProduct[C]) sizeA(rows int) int {
	if t.packsA() {
		return rows * ((t.k + tileK - 1) / tileK * tileK)
	}
	return choose(t.k%tileK > 0, rows*tileK, 0)
}

// sizeSums returns the number of sums that are in memory at a time.
func (t *tileProduct[C]) sizeSums() int {
	switch {
	case t.staged:
		return tileRows*(min(tileStage, t.columns)+tileColumns) + 2*tileStage
	case !t.rounds():
		return 0
	case t.k <= tileStripeK:
		return tileRows * tilePanel
	}
	return tileRows * t.columns
}

// stripe computes m rows of C from row i on, up to 16, for the columns [j, end).
func (t *tileProduct[C]) stripe(i, m, j, end int) {
	if t.lower {
		end = min(end, t.row+i+m-t.column)
	}
	if j >= end {
		return
	}
	if t.staged {
		for first := j; first < end; first += tileStage {
			t.stage(i, m, first, min(end, first+tileStage))
		}
	} else {
		for p := 0; p < t.k; p += t.cutK {
			t.panels(i, m, j, end, p)
		}
	}
	t.finished(i, j, m, end-j)
}

// panels adds the part of k from p on to the elements of a stripe.
func (t *tileProduct[C]) panels(i, m, j, end, p int) {
	whole := (end - j) / tilePanel
	for _, part := range [2]struct{ panels, first, columns int }{{whole, 0, tilePanel}, {1, whole, end - j - whole*tilePanel}} {
		if part.panels == 0 || part.columns == 0 {
			continue
		}
		x, size, rounded := t.call(i, j+part.first*tilePanel, p), int(unsafe.Sizeof(C(0))), t.rounds()
		x.bn, x.cn = 4*t.packed.panel, size*tilePanel
		columns := part.columns
		if rounded && t.k > t.cutK { // sums of the parts before the last stay in float32
			x.sums = unsafe.Pointer(&t.sums[part.first*tileRows*tilePanel])
			x.sn = 4 * tileRows * tilePanel
			if rounded = p+t.cutK >= t.k; !rounded {
				columns = (columns + tileColumns - 1) / tileColumns * tileColumns
				x.c, x.cs, x.cn = x.sums, 4*columns, x.sn
				x.d = x.c
			}
		}
		t.runCalls(&x, part.panels, m, columns, rounded)
	}
}

// stage computes sums in memory, and C from them row by row.
func (t *tileProduct[C]) stage(i, m, j, end int) {
	n := end - j
	stride := (n+tileColumns-1)/tileColumns*tileColumns + tileColumns
	if t.begins {
		for r := range m {
			t.old(t.sums[r*stride:][:n], i+r, j)
		}
	}
	for p := 0; p < t.k; p += t.cutK {
		for first := 0; first < n; {
			columns, panels := min(tilePanel, n-first), max(1, (n-first)/tilePanel)
			x := t.call(i, j+first, p)
			x.c = unsafe.Pointer(&t.sums[first])
			x.d, x.cs, x.bn, x.cn = x.c, 4*stride, 4*t.packed.panel, 4*tilePanel
			t.runCalls(&x, panels, m, columns, false)
			first += panels * columns
		}
	}
	space := t.sums[m*stride:][:2*n]
	for r := range m {
		t.store(t.sums[r*stride:][:n], space, i+r, j)
	}
}

// old writes the content of C, or of the addend, that a row of sums begins at.
func (t *tileProduct[C]) old(sums []float32, i, j int) {
	switch {
	case t.addend != nil:
		copy(sums, t.addend[i*t.ldc+j:])
	case t.rounds():
		widenBFloat16(t.packed.kernels.vectors(), sums, bfloats(t.c[i*t.ldc+j:][:len(sums)]))
	default:
		copy(sums, floats(t.c[i*t.ldc+j:]))
	}
}

// store computes a row of C from its sums, with memory for twice as many.
func (t *tileProduct[C]) store(sums, space []float32, i, j int) {
	p := t.packed.kernels.vectors()
	if !t.begins {
		if t.beta == 0 && !t.rounds() {
			scaleTo(p, floats(t.c[i*t.ldc+j:][:len(sums)]), sums, t.alpha)
			return
		}
		if t.alpha != 1 {
			scaleRow(p, sums, t.alpha)
		}
		if t.beta != 0 {
			old := space[:len(sums)]
			t.old(old, i, j)
			addMultiple(p, sums, old, t.beta)
		}
	}
	switch {
	case t.rows != nil:
		t.rows.row(t.row+i, t.column+j, sums, space)
	case t.rounds():
		roundBFloat16(p, bfloats(t.c[i*t.ldc+j:][:len(sums)]), sums)
	default:
		copy(floats(t.c[i*t.ldc+j:]), sums)
	}
}

// down computes m rows of a narrow C, for a k that is not divided: some rows at a time, which stay
// in the first-level cache, a panel after another.
func (t *tileProduct[C]) down(m int) {
	for i := 0; i < m; i += tileDown {
		rows := min(tileDown, m-i)
		whole := rows / tileRows
		for j := 0; j < t.n; j += tilePanel {
			columns := min(tilePanel, t.n-j)
			if whole > 0 {
				x := t.call(t.first+i, j, 0)
				x.an, x.cn = t.from.an, tileRows*x.cs
				if x.tail != nil {
					x.tn = tileRows * tileBytes
				}
				t.runCalls(&x, whole, tileRows, columns, t.rounds())
			}
			if r := whole * tileRows; r < rows {
				x := t.call(t.first+i+r, j, 0)
				t.runCalls(&x, 1, rows-r, columns, t.rounds())
			}
		}
	}
	t.finished(t.first, 0, m, t.n)
}

// call returns a call for C at (i, j) and the part of k from p on.
func (t *tileProduct[C]) call(i, j, p int) tileBlock {
	from, size, row, step := &t.from, int(unsafe.Sizeof(C(0))), i-t.first, p/tileK
	x := tileBlock{
		a: unsafe.Add(from.a, row/tileRows*from.an+step*from.ak), as: from.as, ak: from.ak,
		b: unsafe.Pointer(&t.packed.words[j/tilePanel*t.packed.panel+p/2*tilePanel]), bs: 4 * tilePanel, bk: 2 * tileK * tilePanel,
		c: unsafe.Pointer(&t.c[i*t.ldc+j]), cs: size * t.ldc,
		steps: min(t.cutK/tileK, from.steps-step),
	}
	x.d = x.c
	if p == 0 && t.addend != nil {
		x.d = unsafe.Pointer(&t.addend[i*t.ldc+j])
	}
	if p+t.cutK >= t.k && from.tail != nil {
		x.tail = unsafe.Add(from.tail, row*tileBytes)
	}
	if p > 0 || t.begins {
		x.keep = 1
	}
	if len(t.sums) > 0 {
		x.sums = unsafe.Pointer(&t.sums[0])
	}
	return x
}

// runCalls runs a call for n blocks, some at a time.
func (t *tileProduct[C]) runCalls(x *tileBlock, n, rows, columns int, rounded bool) {
	most := max(1, tileCall/(tileRows*tilePanel*tileK*(x.steps+1)))
	for x.blocks = min(n, most); ; x.blocks = min(n, most) {
		x.run(t.packed.kernels, rows, columns, rounded)
		if n -= x.blocks; n == 0 {
			return
		}
		x.a, x.b, x.c, x.d = unsafe.Add(x.a, most*x.an), unsafe.Add(x.b, most*x.bn), unsafe.Add(x.c, most*x.cn), unsafe.Add(x.d, most*x.cn)
		if x.sn > 0 {
			x.sums = unsafe.Add(x.sums, most*x.sn)
		}
		if x.tn > 0 {
			x.tail = unsafe.Add(x.tail, most*x.tn)
		}
	}
}

// placeA prepares m rows of op(A) from row first on.
func (t *tileProduct[C]) placeA(space []BFloat16, m int) {
	whole, rest := t.k/tileK, t.k%tileK
	if t.packsA() {
		steps := (t.k + tileK - 1) / tileK
		t.from = tilesOfA{a: unsafe.Pointer(&space[0]), as: tileBytes, ak: tileRows * tileBytes, an: steps * tileRows * tileBytes, steps: steps}
		if t.ta {
			t.transposeA(space, m, steps)
		} else {
			t.copyA(space, m, steps)
		}
		return
	}
	t.from = tilesOfA{a: unsafe.Pointer(&t.a[t.first*t.lda]), as: 2 * t.lda, ak: tileBytes, an: tileRows * 2 * t.lda, steps: whole}
	if rest == 0 {
		return
	}
	for i := range m {
		row := space[i*tileK:][:tileK]
		clear(row[copy(row, t.rowA(t.first+i, t.k-rest, rest)):])
	}
	t.from.tail = unsafe.Pointer(&space[0])
}

// copyA packs rows of A.
func (t *tileProduct[C]) copyA(space []BFloat16, m, steps int) {
	const tile = tileRows * tileK
	whole, rest := t.k/tileK, t.k%tileK
	for i := range m {
		to := space[i/tileRows*steps*tile+i%tileRows*tileK:]
		if whole > 0 {
			copyTileRow(t.packed.kernels, to, t.rowA(t.first+i, 0, whole*tileK), whole)
		}
		if rest > 0 {
			last := to[whole*tile:][:tileK]
			clear(last[copy(last, t.rowA(t.first+i, t.k-rest, rest)):])
		}
	}
}

// transposeA packs rows of an A that is stored [k, m], 32 of its stored rows at a time.
func (t *tileProduct[C]) transposeA(space []BFloat16, m, steps int) {
	const tile = tileRows * tileK
	var part [tileK * tileRows]BFloat16
	for s := range steps {
		k, groups := min(tileK, t.k-s*tileK), (m+tileRows-1)/tileRows
		whole := choose(k == tileK, m/tileRows, 0)
		if whole > 0 {
			transposeTileRows(t.packed.kernels, space[s*tile:], steps*tile, t.a[s*tileK*t.lda+t.first:], t.lda, whole)
		}
		for g := whole; g < groups; g++ {
			clear(part[:])
			for p := range k {
				copy(part[p*tileRows:][:tileRows], t.rowA(s*tileK+p, t.first+g*tileRows, min(tileRows, m-g*tileRows)))
			}
			transposeTileRows(t.packed.kernels, space[(g*steps+s)*tile:], 0, part[:], tileRows, 1)
		}
	}
}

// copyTileRow copies a row of 32 elements for each of several tiles, which follow one another.
func copyTileRow(kernels *microkernels, to, from []BFloat16, tiles int) {
	if !kernels.portable {
		fastCopyTileRow(to, from, tiles)
		return
	}
	for i := range tiles {
		copy(to[i*tileRows*tileK:][:tileK], from[i*tileK:])
	}
}

// transposeTileRows writes tiles, ds elements apart, from 16 columns each of 32 stored rows, which
// are ss elements apart.
func transposeTileRows(kernels *microkernels, to []BFloat16, ds int, from []BFloat16, ss, tiles int) {
	if !kernels.portable {
		fastTransposeTileRows(to, ds, from, ss, tiles)
		return
	}
	for i := range tiles {
		for p := range tileK {
			for r, x := range from[p*ss+i*tileRows:][:tileRows] {
				to[i*ds+r*tileK+p] = x
			}
		}
	}
}
