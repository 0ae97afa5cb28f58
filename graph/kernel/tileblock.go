package kernel

import "unsafe"

// AMX multiplies tiles: up to 16 rows of A, each 16 pairs of bfloat16 along k, by up to 16 columns
// of B, which lie side by side in rows of pairs as in PackedBFloat16.
const (
	tileRows    = 16
	tileColumns = 16
	tileK       = 32              // elements of k
	tileBytes   = 2 * tileK       // of a row
	tilePanel   = 2 * tileColumns // columns of a panel of B
)

// tileShapes is what LDTILECFG reads: the rows, and the bytes of a row, of each tile.
type tileShapes struct {
	palette byte
	_       [15]byte
	bytes   [16]uint16
	rows    [16]byte
}

func (s *tileShapes) set(tile, rows, bytes int) {
	s.rows[tile], s.bytes[tile] = byte(rows), uint16(bytes)
}

// tileBlock is one call of a micro-kernel of AMX: it computes blocks of up to 16 x 32 elements of C
// one after another, each
//
//	C = A B or, with keep, C = D + A B
//
// in the order of additions of sumTiles. The assembly reads it by offset (see internal/asmgen).
// Distances are in bytes.
type tileBlock struct {
	shapes tileShapes

	a, b, c, d unsafe.Pointer // D's rows are as far apart as C's
	tail       unsafe.Pointer // the rows of A after the whole steps, filled with zeros to 32 elements, or nil
	sums       unsafe.Pointer // if C is bfloat16: memory for the sums, which with keep holds D

	as, ak         int // in A: from row to row, and from one step of k to the next
	bs, bk         int // in B: from one row of pairs to the next, and from step to step
	cs             int // in C: from row to row
	steps          int // whole steps of 32 elements of k
	blocks         int // number of blocks
	an, bn, cn, tn int // from block to block in A, B, C and tail
	sn             int // from block to block in sums
	keep           int // 1: begin with D
	rows, columns  int // of C in a block
}

// run computes the blocks, each of rows x columns of C; rounded says that C is bfloat16. The shapes
// of a product's three tiles must fit together. So if the second tile of a C of float32 is partial,
// its part of B needs a tile of its own; a C of bfloat16 is stored from whole sums, with a mask.
func (t *tileBlock) run(kernels *microkernels, rows, columns int, rounded bool) {
	t.rows, t.columns = rows, columns
	if kernels.portable {
		t.runPortable(rounded)
		return
	}
	t.shape(rows, columns, rounded)
	t.runFast(1, columns > tileColumns, rounded, rounded || columns%tileColumns == 0)
}

// runTileBlocks runs calls for whole blocks of 16 x 32 elements of a C of float32 together, which
// saves most of the time of a call with little work.
func runTileBlocks(kernels *microkernels, calls []tileBlock) {
	if len(calls) == 0 {
		return
	}
	if kernels.portable {
		for i := range calls {
			calls[i].run(kernels, tileRows, tilePanel, false)
		}
		return
	}
	calls[0].shape(tileRows, tilePanel, false)
	calls[0].runFast(len(calls), true, false, true)
}

// shape sets the shapes of tiles for blocks of rows x columns.
func (t *tileBlock) shape(rows, columns int, rounded bool) {
	t.shapes = tileShapes{palette: 1}
	wide, sums := columns > tileColumns, 1
	widths := [2]int{4 * min(columns, tileColumns), 4 * (columns - tileColumns)}
	if rounded {
		widths = [2]int{tileBytes, tileBytes}
	}
	if wide {
		sums = 2
	}
	for i := range sums {
		t.shapes.set(i, rows, widths[i])
		t.shapes.set(sums+1+i, tileRows, widths[i]) // B
	}
	t.shapes.set(sums, rows, tileBytes) // A
}

// runPortable computes the blocks with sumTiles.
func (t *tileBlock) runPortable(rounded bool) {
	steps, size := t.steps, choose(rounded, 2, 4)
	for n := range t.blocks {
		for i := range t.rows {
			for j := range t.columns {
				c := unsafe.Add(t.c, n*t.cn+i*t.cs+size*j)
				sum := float32(0)
				switch {
				case t.keep != 0 && rounded:
					sum = *(*float32)(unsafe.Add(t.sums, n*t.sn+4*(i*t.sumColumns()+j)))
				case t.keep != 0:
					sum = *(*float32)(unsafe.Add(t.d, n*t.cn+i*t.cs+4*j))
				}
				for s := range steps {
					sum = sumTiles(sum, t.pairs(t.a, n*t.an+i*t.as+s*t.ak), t.pairs(t.b, n*t.bn+4*j+s*t.bk), t.bs)
				}
				if t.tail != nil {
					sum = sumTiles(sum, t.pairs(t.tail, n*t.tn+i*tileBytes), t.pairs(t.b, n*t.bn+4*j+steps*t.bk), t.bs)
				}
				if rounded {
					*(*BFloat16)(c) = toBFloat16(sum)
				} else {
					*(*float32)(c) = sum
				}
			}
		}
	}
}

// sumColumns returns the length of a row of sums.
func (t *tileBlock) sumColumns() int {
	return (t.columns + tileColumns - 1) / tileColumns * tileColumns
}

// pairs returns the address of a pair.
func (t *tileBlock) pairs(from unsafe.Pointer, bytes int) *[2]BFloat16 {
	return (*[2]BFloat16)(unsafe.Add(from, bytes))
}

// sumTiles adds to c what TDPBF16PS adds to an element of its sum, bit for bit but for the bits of
// a NaN: of 16 pairs of a, and 16 pairs of b that are bs bytes apart, it sums the products of first
// elements apart from those of second ones,
//
//	e <- fma(a_0, b_0, e);   o <- fma(a_1, b_1, o)
//
// both from zero, and then computes c + (e + o). Each operation is rounded once to float32, takes
// denormal operands as zero, and turns a denormal result into zero with the same sign.
func sumTiles(c float32, a, b *[2]BFloat16, bs int) float32 {
	first, second := float32(0), float32(0)
	for p := range tileK / 2 {
		x := (*[2]BFloat16)(unsafe.Add(unsafe.Pointer(a), 4*p))
		y := (*[2]BFloat16)(unsafe.Add(unsafe.Pointer(b), bs*p))
		first, second = flushingFMA(x[0], y[0], first), flushingFMA(x[1], y[1], second)
	}
	return flushed(flushed(c) + flushed(first+second))
}
