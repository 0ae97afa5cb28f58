package kernel

import "unsafe"

// PackedBFloat16 is the op(B) [k, n] of products, laid out as they read it: in panels of some columns, each
// [k/2, columns, 2], so that pairs along k lie together; an odd k is filled up with zeros. It is a view of
// the memory of the WeightsBFloat16 that packed it.
type PackedBFloat16 struct {
	k, n    int
	words   []float32 // pairs; the first is that of row 0, column 0
	panel   int       // pairs from a panel to the next
	kernels *microkernels
}

// WeightsBFloat16 packs a matrix and keeps its memory, so that weights are packed once a step for all
// products that read them. The zero value is ready; packing again reuses the memory.
type WeightsBFloat16 struct {
	packer packer
	memory arena
	path   path
}

// Pack packs op(B) [k, n] from b, stored as in Gemm.Run. The result is valid until the next packing.
func (w *WeightsBFloat16) Pack(p *Pool, tb bool, n, k int, b []BFloat16, ldb int) PackedBFloat16 {
	checkMatrix(b, choose(tb, n, k), choose(tb, k, n), ldb)
	return w.pack(p, source{rows: b, ld: ldb, transposed: tb}, n, k)
}

// PackFloat32 is Pack for a B of float32, which it rounds to bfloat16.
func (w *WeightsBFloat16) PackFloat32(p *Pool, tb bool, n, k int, b []float32, ldb int) PackedBFloat16 {
	checkMatrix(b, choose(tb, n, k), choose(tb, k, n), ldb)
	return w.pack(p, source{floats: b, ld: ldb, transposed: tb}, n, k)
}

func (w *WeightsBFloat16) pack(p *Pool, from source, n, k int) PackedBFloat16 {
	w.packer.prepare(p, pairKernelsOf(w.path), from, k)
	return w.packer.run(&w.memory, 0, n)
}

// BFloat16Panel is a number of columns that a packed matrix can be cut at on every processor.
const BFloat16Panel = 32

// Part is the rows [k0, k1) and columns [j0, j1). k0 is even, and k1 even or the last; j0 is a multiple of
// BFloat16Panel.
func (b PackedBFloat16) Part(k0, k1, j0, j1 int) PackedBFloat16 {
	if j0 >= j1 || k0 >= k1 {
		return PackedBFloat16{k: k1 - k0, n: j1 - j0, kernels: b.kernels}
	}
	width := b.kernels.width()
	b.words = b.words[j0/width*b.panel+k0/2*width:]
	b.k, b.n = k1-k0, j1-j0
	return b
}

// source is the matrix that is packed: [k, n], or [n, k] where transposed, of one of two types.
type source struct {
	rows       []BFloat16
	floats     []float32
	ld         int
	transposed bool
	gather     gather
}

// row is the columns [j, j+n) of stored row r; space [n] is for one that is rounded.
func (s *source) row(p path, r, j, n int, space []BFloat16) []BFloat16 {
	first := s.gather.row(r)*s.ld + j
	if s.floats == nil {
		return s.rows[first:][:n]
	}
	roundBFloat16(p, space[:n], s.floats[first:][:n])
	return space[:n]
}

// packer packs a matrix, panels being divided over a Pool.
type packer struct {
	source  source
	kernels *microkernels
	pool    *Pool
	own     arena
	k, n    int
	first   int // column of the matrix
	packed  PackedBFloat16
}

// prepare sets what is packed.
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

// panelPairs is the distance of panels in rows of pairs. It is odd: panels at the distance of a power
// of two would compete for the same places of the cache.
func panelPairs(k int) int { return (k+1)/2 | 1 }

// Part packs the panels [lo, hi).
func (t *packer) Part(worker, lo, hi int) {
	width := t.kernels.width()
	first, end := lo*width, min(t.n, hi*width)
	if first >= end {
		return
	}
	scratch := t.pool.arena(worker, &t.own)
	if t.source.transposed {
		t.transposePanels(scratch, first, end)
		return
	}
	for step := panelsTogether * width; first < end; first += step {
		t.interleaveRows(scratch, first, min(first+step, end))
	}
}

// panelsTogether is the number of panels that interleaveRows writes at a time: more places than that
// are slow to write to in turn.
const panelsTogether = 8

// interleaveRows packs the columns [first, end) from rows, two at a time, in the order of memory.
func (t *packer) interleaveRows(scratch *arena, first, end int) {
	width, n, path := t.kernels.width(), end-first, t.kernels.path
	space, _ := carve[float32](scratch, n, 0)
	rounded := pairsOf(space) // two rows
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

// transposedK is how much of k transposePanels takes at a time.
const transposedK = 512

// transposePanels packs the columns [first, end) from stored rows, each of which is a column: pairs lie
// together already.
func (t *packer) transposePanels(scratch *arena, first, end int) {
	width := t.kernels.width()
	space, _ := carve[float32](scratch, width*transposedK/2, 0)
	for j := first; j < end; j += width {
		for p := 0; p < t.k; p += transposedK {
			k := min(transposedK, t.k-p)
			rows, ld := t.pairRows(space, j, min(width, end-j), p, k)
			to := t.packed.words[j/width*t.packed.panel+p/2*width:]
			transpose(t.kernels.path, to, width, rows, ld, min(width, end-j), (k+1)/2)
		}
	}
}

// pairRows is the stored rows [j, j+columns), elements [p, p+k), as pairs, and the distance between
// rows: where they lie, or copied to space if pairs do not lie where a float32 could, or are incomplete.
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
		if row := s.row(t.kernels.path, t.first+j+i, p, k, to); s.floats == nil {
			copy(to, row)
		}
	}
	return space, ld
}

// pairsOf is the elements of pairs.
func pairsOf(words []float32) []BFloat16 {
	return unsafe.Slice((*BFloat16)(unsafe.Pointer(unsafe.SliceData(words))), 2*len(words))
}

// wordsOf is elements as pairs, the first of which lies where a float32 can.
func wordsOf(elements []BFloat16) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)/2)
}
