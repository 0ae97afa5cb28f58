package kernel

//go:generate go run ./internal/asmgen

import "golang.org/x/sys/cpu"

// machinePath is the fastest path that this processor has.
var machinePath = detect()

// detect finds NEON, which every 64-bit Arm processor has, unless GODEBUG=cpu.asimd=off switches it
// off.
func detect() path {
	if cpu.ARM64.HasASIMD {
		return neon
	}
	return portable
}

// runFast runs one tile.
func (t *tile[T]) runFast(_ path, rows, vecs int, transposed, partial bool) {
	neonTile(rows, vecs, transposed, partial, t.float32())
}

// runDots computes one tile of rows x cols dot products.
func (t *tile[T]) runDots(_ path, rows, cols int) { neonDots(rows, cols, t.float32()) }

// runFast computes the combination of the given number of rows.
func (t *combineTile[T]) runFast(_ path, rows int) { neonCombine(rows, t.float32()) }

// runFast adds the multiples of the given number of rows, 1 or axpyRows.
func (t *axpyTile[T]) runFast(rows int) {
	if rows == 1 {
		neonAxpy1(t.float32())
	} else {
		neonAxpy8(t.float32())
	}
}

// runFast computes the products with the given number of vectors, up to fewRows.
func (t *gemvTile[T]) runFast(vectors int) {
	switch vectors {
	case 1:
		neonGemv1(t.float32())
	case 2:
		neonGemv2(t.float32())
	case 3:
		neonGemv3(t.float32())
	case 4:
		neonGemv4(t.float32())
	}
}

// runFast adds the products.
func (t *sumProductsTile[T]) runFast(path) { neonSumProducts(t.float32()) }

// bit returns 1 for true, 0 for false.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// transposeFast transposes src: whole squares by the routine, what is left of their rows and
// columns element by element.
func transposeFast[T Float](_ path, dst []T, ds int, src []T, ss, rows, columns int) {
	side := neonKernels.lanes
	across := columns / side * side
	for r := 0; r < rows; r += side {
		first, high := 0, min(side, rows-r)
		if high == side && across > 0 {
			neonTranspose((*float32)(pointer(dst[r:])), ds, (*float32)(pointer(src[r*ss:])), ss, across/side)
			first = across
		}
		if first < columns {
			transpose(portable, dst[first*ds+r:], ds, src[r*ss+first:], ss, high, columns-first)
		}
	}
}
