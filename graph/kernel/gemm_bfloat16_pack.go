package kernel

import "unsafe"

// PackedBFloat16 is the op(B) [k, n] of products in the layout that they read: panels of some
// columns, each [k/2, columns, 2], so that pairs along k lie together; for an odd k, zeros complete
// the last pairs. It refers to the memory of the WeightsBFloat16 that packed it.
type PackedBFloat16 struct {
	k, n    int
	words   []float32 // pairs; the first belongs to row 0, column 0
	panel   int       // distance between panels in pairs
	kernels *microkernels
}

// WeightsBFloat16 packs a matrix and owns the memory, so that weights are packed once per step
// for all products that read them. The zero value is ready; packing again reuses the memory.
type WeightsBFloat16 struct {
	packer packer
	memory arena
	path   path
}

// Pack packs op(B) [k, n] from b, which is stored as in Gemm.Run. The result is valid until the
// next packing.
func (w *WeightsBFloat16) Pack(p *Pool, tb bool, n, k int, b []BFloat16, ldb int) PackedBFloat16 {
	checkMatrix(b, choose(tb, n, k), choose(tb, k, n), ldb)
	return w.pack(p, source{rows: b, ld: ldb, transposed: tb}, n, k)
}

// PackFloat32 packs a B of float32, as Pack does, rounding it to bfloat16.
func (w *WeightsBFloat16) PackFloat32(p *Pool, tb bool, n, k int, b []float32, ldb int) PackedBFloat16 {
	checkMatrix(b, choose(tb, n, k), choose(tb, k, n), ldb)
	return w.pack(p, source{floats: b, ld: ldb, transposed: tb}, n, k)
}

func (w *WeightsBFloat16) pack(p *Pool, from source, n, k int) PackedBFloat16 {
	w.packer.prepare(p, pairKernelsOf(w.path), from, k)
	return w.packer.run(&w.memory, 0, n)
}

// bfloat16Panel: on every processor, a packed matrix can be cut at multiples of this number of
// columns.
const bfloat16Panel = 32

// Part returns the rows [k0, k1) and columns [j0, j1). k0 must be a multiple of 32, and so must k1
// unless it is the last; j0 must be a multiple of bfloat16Panel.
func (b PackedBFloat16) Part(k0, k1, j0, j1 int) PackedBFloat16 {
	if j0 >= j1 || k0 >= k1 {
		return PackedBFloat16{k: k1 - k0, n: j1 - j0, kernels: b.kernels}
	}
	width := b.kernels.width()
	b.words = b.words[j0/width*b.panel+k0/2*width:]
	b.k, b.n = k1-k0, j1-j0
	return b
}

// entry returns entry (row, column).
func (b PackedBFloat16) entry(row, column int) BFloat16 {
	width := b.kernels.width()
	return pairsOf(b.words[column/width*b.panel+row/2*width+column%width:])[row%2]
}

// source is the matrix to pack: [k, n], or [n, k] if transposed, in one of two types, or Weights in
// int8.
type source struct {
	rows       []BFloat16
	floats     []float32
	weights    *Weights
	ld         int
	transposed bool
}

// row returns the columns [j, j+n) of stored row r; if they must be rounded, into space [n].
func (s *source) row(p path, r, j, n int, space []BFloat16) []BFloat16 {
	first := r*s.ld + j
	if s.floats == nil {
		return s.rows[first:][:n]
	}
	roundBFloat16(p, space[:n], s.floats[first:][:n])
	return space[:n]
}

// packer packs a matrix; the workers of a Pool share the panels.
type packer struct {
	source  source
	kernels *microkernels
	pool    *Pool
	own     arena
	k, n    int
	first   int // first column of the matrix to pack
	packed  PackedBFloat16
}

// prepare sets the matrix to pack.
func (t *packer) prepare(p *Pool, kernels *microkernels, from source, k int) {
	t.pool, t.kernels, t.source, t.k = p, kernels, from, k
}

// run packs the columns [first, first+n) into memory.
func (t *packer) run(memory *arena, first, n int) PackedBFloat16 {
	width := t.kernels.width()
	panels := (n + width - 1) / width
	t.first, t.n = first, n
	t.packed = PackedBFloat16{k: t.k, n: n, panel: panelPairs(t.k) * width, kernels: t.kernels}
	t.packed.words, _ = carve[float32](memory, panels*t.packed.panel, 0)
	t.pool.Do(panels, t)
	return t.packed
}

// panelPairs returns the distance between panels, in rows of pairs. Tiles read k up to a multiple
// of 32. The distance is odd: panels at a distance that is a power of two would compete for the
// same cache lines.
func panelPairs(k int) int { return (k+tileK-1)/tileK*tileK/2 | 1 }

// Part packs the panels [lo, hi).
func (t *packer) Part(worker, lo, hi int) {
	width := t.kernels.width()
	first, end := lo*width, min(t.n, hi*width)
	if first >= end {
		return
	}
	if t.kernels.tiles {
		for panel := lo; panel < hi; panel++ {
			clear(t.packed.words[panel*t.packed.panel:][(t.k+1)/2*width : t.packed.panel])
		}
	}
	scratch := t.pool.arena(worker, &t.own)
	switch {
	case t.source.weights != nil:
		t.roundWeights(scratch, lo, hi)
		return
	case t.source.transposed:
		t.transposePanels(scratch, first, end)
		return
	}
	for step := panelsTogether * width; first < end; first += step {
		t.interleaveRows(scratch, first, min(first+step, end))
	}
}

// roundWeights packs panels of Weights, whose own panels are twice as wide, a group of rows at a
// time.
func (t *packer) roundWeights(scratch *arena, lo, hi int) {
	const width, size = weightsColumns / 2, weightsGroup * weightsColumns
	floats := kernelsOf[float32](t.kernels.vectors())
	if floats.width() != width { // not on a processor with AMX
		floats = &portableTilePanels
	}
	space, words := carve[float32](scratch, size, size/2)
	for panel := lo; panel < hi; {
		half := panel % 2
		n := min(2-half, hi-panel)
		for p := 0; p < t.k; p += weightsGroup {
			rows := min(weightsGroup, t.k-p)
			t.source.weights.unpack(floats, space, (t.first/width+panel)/2, p, rows)
			rounded := pairsOf(words)[:2*rows*width]
			roundBFloat16(floats.path, rounded, space[:2*rows*width])
			for i := range n {
				from, to := rounded[(half+i)*rows*width:], t.packed.words[(panel+i)*t.packed.panel+p/2*width:]
				for r := 0; r < rows; r += 2 {
					var odd []BFloat16
					if r+1 < rows {
						odd = from[(r+1)*width:][:width]
					}
					interleave(floats.path, pairsOf(to[r/2*width:][:width]), from[r*width:][:width], odd)
				}
			}
		}
		panel += n
	}
}

// panelsTogether is the number of panels that interleaveRows writes at a time: writing to more
// places by turns is slow.
const panelsTogether = 8

// interleaveRows packs the columns [first, end) from rows, two rows at a time, in the order of
// memory.
func (t *packer) interleaveRows(scratch *arena, first, end int) {
	width, n, path := t.kernels.width(), end-first, t.kernels.vectors()
	space, _ := carve[float32](scratch, n, 0)
	rounded := pairsOf(space) // room for two rows
	for p := 0; p < t.k; p += 2 {
		even := t.source.row(path, p, t.first+first, n, rounded[:n])
		var odd []BFloat16
		if p+1 < t.k {
			odd = t.source.row(path, p+1, t.first+first, n, rounded[n:])
		}
		if t.source.floats == nil && p+3 < t.k {
			prefetchBFloat16(t.source.row(path, p+2, t.first+first, n, nil))
			prefetchBFloat16(t.source.row(path, p+3, t.first+first, n, nil))
		}
		to := t.packed.words[first/width*t.packed.panel+p/2*width:]
		for j := 0; j < n; j += width {
			columns := min(width, n-j)
			part := odd
			if odd != nil {
				part = odd[j : j+columns]
			}
			interleave(path, pairsOf(to[j/width*t.packed.panel:][:columns]), even[j:j+columns], part)
		}
	}
}

// transposedK is the part of k that transposePanels takes at a time.
const transposedK = 512

// transposePanels packs the columns [first, end) from a matrix that stores each column as a row, so
// that pairs lie together already.
func (t *packer) transposePanels(scratch *arena, first, end int) {
	width := t.kernels.width()
	space, _ := carve[float32](scratch, width*transposedK/2, 0)
	for j := first; j < end; j += width {
		for p := 0; p < t.k; p += transposedK {
			k := min(transposedK, t.k-p)
			rows, ld := t.pairRows(space, j, min(width, end-j), p, k)
			to := t.packed.words[j/width*t.packed.panel+p/2*width:]
			transpose(t.kernels.vectors(), to, width, rows, ld, min(width, end-j), (k+1)/2)
		}
	}
}

// pairRows returns elements [p, p+k) of the stored rows [j, j+columns) as pairs, and the distance
// between rows: in place if possible; if pairs are incomplete or not aligned as float32 are, copied
// to space.
func (t *packer) pairRows(space []float32, j, columns, p, k int) ([]float32, int) {
	s := &t.source
	if s.floats == nil && s.ld%2 == 0 && k%2 == 0 {
		at := s.rows[(t.first+j)*s.ld+p:]
		if uintptr(unsafe.Pointer(&at[0]))%4 == 0 {
			return wordsOf(at[:(columns-1)*s.ld+k]), s.ld / 2
		}
	}
	const ld = transposedK / 2
	for i := range columns {
		to := pairsOf(space[i*ld : i*ld+(k+1)/2])
		to[len(to)-1] = 0
		if row := s.row(t.kernels.vectors(), t.first+j+i, p, k, to); s.floats == nil {
			copy(to, row)
		}
	}
	return space, ld
}

// pairsOf returns the memory of pairs as elements.
func pairsOf(words []float32) []BFloat16 {
	return unsafe.Slice((*BFloat16)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
}

// wordsOf returns the memory of elements as pairs; it must be aligned as float32 are.
func wordsOf(elements []BFloat16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)/2)
}
