package kernel

//go:generate go run ./internal/asmgen

import "golang.org/x/sys/cpu"

// machinePath is the fastest path that this processor has.
var machinePath = detect()

func detect() path {
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return avx512
	case cpu.X86.HasAVX2 && cpu.X86.HasFMA:
		return avx2
	}
	return portable
}

// runFast runs one tile on a fast path.
func (t *tile[T]) runFast(p path, rows, vecs int, transposed, partial bool) {
	if p == avx512 {
		avx512Tile(rows, vecs, transposed, t.float32())
	} else {
		avx2Tile(rows, vecs, transposed, partial, t.float32())
	}
}

// runDots computes one tile of rows x cols dot products on a fast path.
func (t *tile[T]) runDots(p path, rows, cols int) {
	if p == avx512 {
		avx512Dots(rows, cols, t.float32())
	} else {
		avx2Dots(rows, cols, t.float32())
	}
}

// runFast computes the combination of the given number of rows on a fast path.
func (t *combineTile[T]) runFast(p path, rows int) {
	if p == avx512 {
		avx512Combine(rows, t.float32())
	} else {
		avx2Combine(rows, t.float32())
	}
}

// runFast adds the multiples of the given number of rows, 1 or axpyRows; it is the same on all fast
// paths.
func (t *axpyTile[T]) runFast(rows int) {
	if rows == 1 {
		avx2Axpy1(t.float32())
	} else {
		avx2Axpy8(t.float32())
	}
}

// runFast computes the products with the given number of vectors, up to fewRows; it is the same on
// all fast paths.
func (t *gemvTile[T]) runFast(vectors int) {
	switch vectors {
	case 1:
		avx2Gemv1(t.float32())
	case 2:
		avx2Gemv2(t.float32())
	case 3:
		avx2Gemv3(t.float32())
	case 4:
		avx2Gemv4(t.float32())
	}
}

// runFast adds the products on a fast path; all give the same bits.
func (t *sumProductsTile[T]) runFast(p path) {
	if p >= avx512 {
		avx512SumProducts(t.float32())
		return
	}
	avx2SumProducts(t.float32())
}

// bit returns 1 for true, 0 for false.
func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// transposeFast transposes src: whole squares, and what is left of their rows and columns.
func transposeFast[T Float](p path, dst []T, ds int, src []T, ss, rows, columns int) {
	side, squares, part := avx2Kernels.lanes, avx2Transpose, avx2TransposePart
	if p == avx512 {
		side, squares, part = avx512Kernels.lanes, avx512Transpose, avx512TransposePart
	}
	for r := 0; r < rows; r += side {
		c, high := 0, min(side, rows-r)
		if across := columns / side; across > 0 && high == side {
			squares((*float32)(pointer(dst[r:])), ds, (*float32)(pointer(src[r*ss:])), ss, across)
			c = across * side
		}
		for ; c < columns; c += side {
			part((*float32)(pointer(dst[c*ds+r:])), ds, (*float32)(pointer(src[r*ss+c:])), ss, high, min(side, columns-c))
		}
	}
}
