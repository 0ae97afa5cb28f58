package kernel

import "unsafe"

// path names a set of micro-kernels. The zero value stands for the fastest set that the machine
// supports; tests force the others.
type path uint8

const (
	fastest path = iota
	portable
	neon
	avx2
	avx512
	avx512Split // products of bfloat16 alone: the bits of avx512 without VDPBF16PS
	amx         // products of bfloat16, and what attention and the loss do around them; else avx512
	amxPortable // the same bits without the instructions, for tests
	neonWide    // products of bfloat16 alone: the bits of neon by BFMLALB and BFMLALT
)

func (p path) String() string {
	return map[path]string{portable: "portable", neon: "neon", avx2: "avx2", avx512: "avx512", avx512Split: "avx512 without VDPBF16PS", amx: "amx",
		amxPortable: "amx in Go", neonWide: "neon with BFMLALB"}[p]
}

// Path returns the name of the fastest micro-kernels that this machine has: avx512, avx2,
// neon or portable. On machines with the same path, float32 results have the same bits.
func Path() string {
	return machinePath.String()
}

// PathOf returns the name of the micro-kernels that results depend on: Path's for float32, and with
// bfloat16 products also whether the machine multiplies them by AMX: then the name is amx. On
// machines with the same path results have the same bits.
func PathOf(bfloat16 bool) string {
	if bfloat16 && machinePairs == amx {
		return amx.String()
	}
	return Path()
}

// Instructions says by which of the processor's instructions matrices are multiplied, in float32
// and in bfloat16, and why bfloat16 is not multiplied by AMX if it is not.
func Instructions() string {
	text := "float32 by " + Path() + ", bfloat16 by "
	if machinePairs == amx {
		return text + "AMX"
	}
	return text + pairInstructions[machinePairs] + " (not by AMX: " + tilesMissing + ")"
}

// pairInstructions are the names of the instructions by which paths multiply pairs.
var pairInstructions = map[path]string{portable: "portable", neon: "neon", neonWide: "BFMLALB and BFMLALT", avx2: "avx2", avx512: "VDPBF16PS",
	avx512Split: "avx512"}

// microkernels describes the micro-kernels of a path. A tile has up to rows[v] rows and a width of
// v vectors of lanes elements.
type microkernels struct {
	path     path
	lanes    int
	vecs     int
	rows     tileHeights
	fullOnly bool // only tiles with the full number of rows are fast
	pairs    bool // the elements of A and B are pairs of bfloat16 along k
	tiles    bool // pairs are multiplied by AMX, or as AMX does (tileBlock)
	portable bool // without the instructions of the path, for tests on processors that lack them
}

// tileHeights are the rows of the largest tiles, by the number of vectors in a row.
type tileHeights [5]int

var (
	portableKernels = microkernels{path: portable, lanes: 2, vecs: 1, rows: tileHeights{1: 3}, fullOnly: true}
	neonKernels     = microkernels{path: neon, lanes: 4, vecs: 4, rows: tileHeights{1: 8, 2: 8, 3: 6, 4: 6}}
	avx2Kernels     = microkernels{path: avx2, lanes: 8, vecs: 2, rows: tileHeights{1: 12, 2: 6}}
	avx512Kernels   = microkernels{path: avx512, lanes: 16, vecs: 2, rows: tileHeights{1: 14, 2: 14}}
)

// kernelsOf returns the micro-kernels of a path for elements of type T: only float32
// has fast ones.
func kernelsOf[T Float](p path) *microkernels {
	if p == fastest || p > avx512 {
		p = machinePath
	}
	switch {
	case unsafe.Sizeof(T(0)) != 4:
		return &portableKernels
	case p == avx512:
		return &avx512Kernels
	case p == avx2:
		return &avx2Kernels
	case p == neon:
		return &neonKernels
	}
	return &portableKernels
}

// width returns the number of columns of the widest tile.
func (m *microkernels) width() int { return m.lanes * m.vecs }

// vectors returns the path of the functions for rows that products need.
func (m *microkernels) vectors() path {
	if m.path > avx512 {
		return machinePath
	}
	return m.path
}

// rowStep returns the number by which a product's rows are divided among workers.
func (m *microkernels) rowStep() int { return choose(m.tiles, tileRows, 1) }

// split divides m rows into tiles: many of height high, and below them few of height low. If lower
// tiles are as fast, the heights differ by at most one.
func (m *microkernels) split(rows, vecs int) (many, high, few, low int) {
	highest := m.rows[vecs]
	if m.fullOnly {
		rest := rows % highest
		return rows / highest, highest, min(rest, 1), rest
	}
	tiles := (rows + highest - 1) / highest
	low = rows / tiles
	many = rows - tiles*low
	return many, low + 1, tiles - many, low
}
