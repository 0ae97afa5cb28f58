package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// neonTile is microkernel for NEON. The vector registers hold elements of A (of its rows four steps
// of k at a time, or of a stored row of A^T), accumulators (row by row), then one or two vectors of
// B. Products multiply B by lanes of A. If a row of B is one vector, there is room for eight steps
// of A's rows, which one instruction loads.
//
// A partial vector is read and written lane by lane without branches: the lanes beyond the end
// repeat the last column, and store its value again.
//
// Elements that are pairs of bfloat16 are multiplied by BFMLALT and BFMLALB, or split into two
// float32 (neon_pairs.go).
type neonTile struct {
	rows, vecs          int
	transposed, partial bool
	pairs               neonPairs
}

// neonMaxRows are the rows of the largest tile, by the number of vectors in a row.
var neonMaxRows = [5]int{1: 8, 2: 8, 3: 6, 4: 6}

func neonTiles(maxRows [5]int, pairs neonPairs) []neonTile {
	var list []neonTile
	for vecs := 1; vecs < len(maxRows); vecs++ {
		for rows := 1; rows <= maxRows[vecs]; rows++ {
			for i := range 4 {
				list = append(list, neonTile{rows, vecs, i&1 == 1, i&2 == 2, pairs})
			}
		}
	}
	return list
}

func (k neonTile) choice() int {
	n := k.rows<<4 | (k.vecs-1)<<2
	if k.transposed {
		n |= 2
	}
	if k.partial {
		n |= 1
	}
	return n
}

func (k neonTile) signature() string {
	form, mask := "n", ""
	if k.transposed {
		form = "t"
	}
	if k.partial {
		mask = "m"
	}
	return fmt.Sprintf("neon%s%s%dx%d%s(t *tile[float32])", k.pairs, form, k.rows, k.vecs, mask)
}

// The general registers of a tile besides those of rows.
const (
	neonC    = "R1"  // C at the row
	neonCS   = "R2"  // bytes between rows of C
	neonK    = "R3"  // steps of k left
	neonB    = "R4"  // B at the step
	neonBS   = "R5"  // bytes between rows of B
	neonAS   = "R6"  // bytes between stored rows of A
	neonD    = "R7"  // the addend at the row
	neonLane = "R16" // bytes from a row to the second lane of its partial vector
	neonLast = "R17" // and to the third
	neonLeft = "R20" // tiles left
)

func (k neonTile) a(i int) string      { return asm.NEON.Vector(i) }
func (k neonTile) acc(r, v int) string { return asm.NEON.Vector(k.as() + r*k.vecs + v) }
func (k neonTile) after(i int) string  { return asm.NEON.Vector(k.as() + k.rows*k.vecs + i) }

// as returns the number of registers for A.
func (k neonTile) as() int {
	n := k.rows
	if k.transposed {
		n = (k.rows + 3) / 4
	}
	if k.pairs == neonSplit || k.double() {
		return 2 * n
	}
	return n
}

// double tells whether two vectors of each row of A are loaded at a time.
func (k neonTile) double() bool { return k.vecs == 1 && !k.transposed && k.pairs == "" }

// element returns the register and the lane of row r of A at a step of a group.
func (k neonTile) element(r, step int) (string, int) {
	switch {
	case k.transposed:
		return k.a(r / 4), r % 4
	case k.double():
		return k.a(2*r + step/4), step % 4
	}
	return k.a(r), step
}

// b returns the register of vector v of B's row: one of two if there are more vectors.
func (k neonTile) b(v int) string { return k.after(v % 2) }

func (k neonTile) emit(w *asm.Writer) {
	neonBegin(w, k.signature())
	neonStrides(w, "tile", "as", neonAS, "bs", neonBS, "cs", neonCS, "an", "R21", "bn", "R22", "cn", "R23")
	neonFields(w, "tile", "c", neonC, "d", neonD, "tiles", neonLeft, "a", "R24", "b", "R25")
	if k.partial {
		w.List(`
			MOVD tile_cols(R0), R16 // of the lanes, the second is that of column min(1, cols-1)
			SUB $1, R16
			MOVD R16, R17
			CMP $1, R16
			CSET GE, R16
			LSL $2, R16
			LSL $2, R17
			ADD $first, R16
			ADD $first, R17
		`, asm.Names{"first": 16 * (k.vecs - 1)})
	}
	if k.pairs != "" {
		k.emitStates(w)
	}
	w.List(`
		tile:
		MOVD R24, R8
		MOVD R25, R4
		MOVD tile_k(R0), R3
	`, nil)
	if !k.transposed {
		neonRows(w, k.rows, neonAS)
	}
	if k.partial {
		w.Op("ADD", fmt.Sprintf("$%d", 16*(k.vecs-1)), neonB, "R26")
		w.Op("ADD", neonLane, neonB, "R21")
		w.Op("ADD", neonLast, neonB, "R22")
	}
	for i := range k.rows * k.vecs {
		zero := k.acc(0, i)
		w.Neon("VEOR", asm.Bytes, zero, zero, zero)
	}
	if k.pairs != "" {
		k.emitFlushing(w)
	}
	k.emitSteps(w)
	if k.pairs != "" {
		k.emitUnderflow(w)
	}
	k.emitStore(w)
	if k.partial { // their registers pointed to lanes of B
		neonStrides(w, "tile", "an", "R21", "bn", "R22")
	}
	if k.pairs == "" { // others are one under another
		w.List(`
			ADD R23, R1
			ADD R23, R7
			ADD R22, R25
		`, nil)
	}
	w.List(`
		ADD R21, R24
		SUBS $1, R20
		BNE tile
	`, nil)
	if k.pairs != "" {
		w.Label("end")
		w.Op("MOVD", neonLeft, "tile_tiles(R0)")
	}
	w.Return()
}

// emitSteps adds up the products: for rows of A four or eight steps at a time, then one at a time.
func (k neonTile) emitSteps(w *asm.Writer) {
	steps := 4
	switch {
	case k.transposed:
		steps = 2
	case k.double():
		steps = 8
	}
	w.List(`
		SUBS $steps, R3
		BLT few
		PCALIGN $32
		group:
	`, asm.Names{"steps": steps})
	switch {
	case k.double():
		for r := range k.rows {
			w.Op("FLDPQ.P", at(32, neonRow(r)), fmt.Sprintf("(%s, %s)", asm.Scalar(k.a(2*r)), asm.Scalar(k.a(2*r+1))))
		}
	case !k.transposed:
		k.emitRowsOfA(w, "FMOVQ.P", 16)
	}
	for lane := range steps {
		k.emitStep(w, lane)
	}
	w.List(`
		SUBS $steps, R3
		BGE group
		few:
		ADDS $steps, R3
		BEQ store
		one:
	`, asm.Names{"steps": steps})
	if !k.transposed {
		k.emitRowsOfA(w, "FMOVS.P", 4)
	}
	k.emitStep(w, 0)
	w.List(`
		SUBS $1, R3
		BNE one
		store:
	`, nil)
}

func (k neonTile) emitRowsOfA(w *asm.Writer, load string, size int) {
	for r := range k.rows {
		a, _ := k.element(r, 0)
		w.Op(load, at(size, neonRow(r)), asm.Scalar(a))
	}
}

// emitStep adds the products of one k: for rows of A, that of a lane.
func (k neonTile) emitStep(w *asm.Writer, lane int) {
	if k.transposed {
		for i := range (k.rows + 3) / 4 {
			w.LoadLanes(min(4, k.rows-4*i), 16*i, "R8", k.a(i), neonScratch)
		}
		w.Op("ADD", neonAS, "R8")
	}
	if k.pairs == neonSplit && (lane == 0 || k.transposed) {
		k.emitSplitA(w)
	}
	for v := 0; v < k.vecs; v += 2 {
		k.emitB(w, v)
		switch k.pairs {
		case neonSplit:
			k.emitSplitB(w, v)
			k.emitProducts(w, v, lane, func(a string, lane, u, r int) { w.NeonLane(k.aOdd(a), lane, k.bOdd(u), k.acc(r, u)) })
			k.emitProducts(w, v, lane, func(a string, lane, u, r int) { w.NeonLane(a, lane, k.b(u), k.acc(r, u)) })
		case neonWide:
			k.emitProducts(w, v, lane, func(a string, lane, u, r int) { w.NeonHalf(true, a, 2*lane+1, k.b(u), k.acc(r, u)) })
			k.emitProducts(w, v, lane, func(a string, lane, u, r int) { w.NeonHalf(false, a, 2*lane, k.b(u), k.acc(r, u)) })
		default:
			k.emitProducts(w, v, lane, func(a string, lane, u, r int) { w.NeonLane(a, lane, k.b(u), k.acc(r, u)) })
		}
	}
	if !k.advances() {
		w.Op("ADD", neonBS, neonB)
	}
}

// advances tells whether the instruction that loads B's row also points to the next row.
func (k neonTile) advances() bool { return !k.partial && k.vecs <= 2 }

// emitProducts adds the products of the vectors v and v+1 of B's row with the elements of A for one
// k: for rows of A, those in a lane.
func (k neonTile) emitProducts(w *asm.Writer, v, lane int, add func(a string, lane, u, r int)) {
	for r := range k.rows {
		a, lane := k.element(r, lane)
		for u := v; u < min(v+2, k.vecs); u++ {
			add(a, lane, u, r)
		}
	}
}

// emitB loads the vectors v and v+1, if there is one, of B's row.
func (k neonTile) emitB(w *asm.Writer, v int) {
	last := k.vecs - 1
	switch whole := k.vecs; {
	case k.advances():
		w.Op("VLD1.P", "("+neonB+")("+neonBS+")", "["+strings.Join(k.bs(0, whole), ".S4, ")+".S4]")
		return
	case !k.partial:
		neonLoads(w, neonB, 16*v, k.bs(v, whole)...)
		return
	case v+1 < last:
		neonLoads(w, neonB, 16*v, k.bs(v, whole)...)
		return
	case v < last:
		neonLoads(w, neonB, 16*v, k.b(v))
	}
	b := k.b(last)
	w.Op("VLD1R.P", "(R26)("+neonBS+")", "["+b+".S4]")
	w.Op("VLD1.P", "(R21)("+neonBS+")", b+".S[1]")
	w.Op("VLD1.P", "(R22)("+neonBS+")", b+".S[2]")
}

// bs lists the registers of the vectors v and v+1 below end.
func (k neonTile) bs(v, end int) []string {
	list := []string{k.b(v), k.b(v + 1)}
	return slices.Clip(list[:min(2, end-v)])
}

// emitStore writes the tile, C = alpha acc + beta D.
func (k neonTile) emitStore(w *asm.Writer) {
	alpha, d := k.b(0), k.b(1)
	beta := k.a(0)
	w.Op("FMOVS", "tile_alpha(R0)", asm.Scalar(alpha))
	w.Op("FMOVS", "tile_beta(R0)", asm.Scalar(beta))
	w.Op("VDUP", alpha+".S[0]", alpha+".S4")
	w.Op("MOVWU", "tile_beta(R0)", neonScratch)
	w.Op("CBZ", neonScratch, "zero")
	k.emitRows(w, alpha, func(r, v int) {
		k.move(w, v, neonD, d, true)
		w.NeonLane(beta, 0, d, k.acc(r, v))
	})
	w.Op("B", "next")
	w.Label("zero")
	k.emitRows(w, alpha, nil)
	w.Label("next")
}

// emitRows writes the rows of C after adding to each vector, and leaves the pointers after the
// last.
func (k neonTile) emitRows(w *asm.Writer, alpha string, add func(r, v int)) {
	for r := range k.rows {
		for v := range k.vecs {
			w.Neon("FMUL", asm.Singles, alpha, k.acc(r, v), k.acc(r, v))
			if add != nil {
				add(r, v)
			}
			k.move(w, v, neonC, k.acc(r, v), false)
		}
		w.Op("ADD", neonCS, neonC)
		w.Op("ADD", neonCS, neonD)
	}
}

// move loads or stores vector v of a row.
func (k neonTile) move(w *asm.Writer, v int, row, register string, load bool) {
	offset := 16 * v
	switch partial := k.partial && v == k.vecs-1; {
	case !partial && load:
		w.Op("FMOVQ", at(offset, row), asm.Scalar(register))
		return
	case !partial:
		w.Op("FMOVQ", asm.Scalar(register), at(offset, row))
		return
	case load:
		w.Op("FMOVS", at(offset, row), asm.Scalar(register))
	default:
		w.Op("FMOVS", asm.Scalar(register), at(offset, row))
	}
	for lane, offset := range []string{1: neonLane, 2: neonLast} {
		if lane == 0 {
			continue
		}
		element := fmt.Sprintf("%s.S[%d]", register, lane)
		w.Op("ADD", offset, row, neonScratch)
		if load {
			w.Op("VLD1", "("+neonScratch+")", element)
		} else {
			w.Op("VST1", element, "("+neonScratch+")")
		}
	}
}
