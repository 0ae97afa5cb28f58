package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// neonCombine is combine for NEON.
type neonCombine struct{ rows int }

func neonCombines() []neonCombine {
	var list []neonCombine
	for rows := 1; rows <= combineRows; rows++ {
		list = append(list, neonCombine{rows})
	}
	return list
}

// vecs returns the number of vectors of a row in a panel: as many as there are registers for, with
// one for a coefficient.
func (k neonCombine) vecs() int { return min(4, (asm.NEON.Registers-1)/(k.rows+1)) }

func (k neonCombine) signature() string {
	return fmt.Sprintf("neoncombine%d(t *combineTile[float32])", k.rows)
}

func (k neonCombine) emit(w *asm.Writer) {
	neonBegin(w, k.signature())
	neonFields(w, "combine", "cols", "R3", "c", "R1", "d", "R7")
	w.List(`
		LSL $2, R3, R2 // bytes of a row
		MOVD ZR, R6    // bytes from the start of a row to the panel
	`, nil)
	neonWalk(w, "R3", k.vecs(), func(label string, vecs int) { k.emitPanel(w, label, vecs) })
}

// emitPanel computes vecs vectors of every row, or an element.
func (k neonCombine) emitPanel(w *asm.Writer, label string, vecs int) {
	move, n, size := neonPart(vecs)
	acc := func(r, v int) string { return w.Vector(r*n + v) }
	b := func(v int) string { return w.Vector(k.rows*n + v) }
	neonClear(w, k.rows*n)
	k.emitTerm(w, label+"first", "", vecs)
	w.Op("MOVD", "combine_k2(R0)", "R4")
	w.Op("CBZ", "R4", label+"add")
	k.emitTerm(w, label+"second", "2", vecs)
	w.Label(label + "add")
	w.Op("CBZ", "R7", label+"store")
	w.Op("MOVD", "R7", "R4")
	for r := range k.rows {
		for v := range n {
			w.Op(move, at(v*size, "R4"), asm.Scalar(b(v)))
			w.Neon("FADD", asm.Singles, b(v), acc(r, v), acc(r, v))
		}
		w.Op("ADD", "R2", "R4")
	}
	w.Op("ADD", fmt.Sprintf("$%d", n*size), "R7")
	w.Label(label + "store")
	w.Op("MOVD", "R1", "R4")
	for r := range k.rows {
		for v := range n {
			w.Op(move, asm.Scalar(acc(r, v)), at(v*size, "R4"))
		}
		w.Op("ADD", "R2", "R4")
	}
	w.Op("ADD", fmt.Sprintf("$%d", n*size), "R1")
	w.Op("ADD", fmt.Sprintf("$%d", n*size), "R6")
}

// emitTerm adds A B, or A2 B2.
func (k neonCombine) emitTerm(w *asm.Writer, label, term string, vecs int) {
	move, n, size := neonPart(vecs)
	neonFields(w, "combine", "a"+term, "R8", "b"+term, "R4", "k"+term, "R5", "rs"+term, "R20", "ks"+term, "R21")
	neonRows(w, k.rows, "R20")
	w.Op("ADD", "R6", "R4")
	w.Label(label)
	for v := range n {
		w.Op(move, at(v*size, "R4"), asm.Scalar(w.Vector(k.rows*n+v)))
	}
	w.Op("ADD", "R2", "R4")
	for r := range k.rows {
		a := w.Vector((k.rows + 1) * n)
		w.Op("FMOVS", "("+neonRow(r)+")", asm.Scalar(a))
		w.Op("ADD", "R21", neonRow(r))
		for v := range n {
			w.NeonLane(a, 0, w.Vector(k.rows*n+v), w.Vector(r*n+v))
		}
	}
	w.Op("SUBS", "$1", "R5")
	w.Op("BNE", label)
}

// neonAxpy is axpy for NEON.
type neonAxpy struct{ rows int }

func (k neonAxpy) signature() string { return fmt.Sprintf("neonAxpy%d(t *axpyTile[float32])", k.rows) }

// emit keeps the multiples in the last vector registers, in all lanes.
func (k neonAxpy) emit(w *asm.Writer) {
	neonBegin(w, k.signature())
	neonFields(w, "axpy", "y", "R1", "a", "R2", "x", "R8", "n", "R3")
	neonStrides(w, "axpy", "as", "R4", "xs", "R5")
	for r := range k.rows {
		w.Op("VLD1R.P", "(R2)(R4)", fmt.Sprintf("[%s.S4]", w.Vector(31-r)))
	}
	neonRows(w, k.rows, "R5")
	neonWalk(w, "R3", 4, func(_ string, vecs int) {
		move, n, size := neonPart(vecs)
		for v := range n {
			w.Op(move, at(v*size, "R1"), asm.Scalar(w.Vector(v)))
		}
		for r := range k.rows {
			for v := range n {
				w.Op(move, at(size*v, neonRow(r)), asm.Scalar(w.Vector(n+v)))
				w.Neon("VFMLA", asm.Singles, w.Vector(n+v), w.Vector(31-r), w.Vector(v))
			}
			w.Op("ADD", fmt.Sprintf("$%d", n*size), neonRow(r))
		}
		for v := range n {
			w.Op(move, asm.Scalar(w.Vector(v)), at(size*v, "R1"))
		}
		w.Op("ADD", fmt.Sprintf("$%d", n*size), "R1")
	})
}

// neonSumProducts is sumProducts for NEON.
type neonSumProducts struct{}

func (neonSumProducts) signature() string { return "neonSumProducts(t *sumProductsTile[float32])" }

func (neonSumProducts) emit(w *asm.Writer) {
	neonBegin(w, neonSumProducts{}.signature())
	neonFields(w, "sumProducts", "out", "R1", "addend", "R2", "a", "R8", "b", "R9", "n", "R3")
	neonStrides(w, "sumProducts", "as", "R4", "bs", "R5")
	neonWalk(w, "R3", sumProductsVectors, func(label string, vecs int) {
		move, n, size := neonPart(vecs)
		neonClear(w, n)
		w.Op("CBZ", "R2", label+"rows")
		for v := range n {
			w.Op(move+".P", at(size, "R2"), asm.Scalar(w.Vector(v)))
		}
		w.List(`
			rows:
			MOVD R8, R10
			MOVD R9, R11
			MOVD sumProducts_rows(R0), R6
			row:
		`, asm.Names{"rows": label + "rows", "row": label + "row"})
		for v := range n {
			w.Op(move, at(v*size, "R10"), asm.Scalar(w.Vector(n+v)))
			w.Op(move, at(v*size, "R11"), asm.Scalar(w.Vector(2*n+v)))
			w.Neon("VFMLA", asm.Singles, w.Vector(2*n+v), w.Vector(n+v), w.Vector(v))
		}
		w.List(`
			ADD R4, R10
			ADD R5, R11
			SUBS $1, R6
			BNE row
			ADD $bytes, R8
			ADD $bytes, R9
		`, asm.Names{"row": label + "row", "bytes": n * size})
		for v := range n {
			w.Op(move+".P", asm.Scalar(w.Vector(v)), at(size, "R1"))
		}
	})
}

// neonDot is dot for NEON. Of rows' last elements, fewer than a vector, each is added to the lowest
// lane.
type neonDot struct{ rows, cols int }

// neonDotRows is the largest number of rows.
const neonDotRows = 4

func neonDots() []neonDot {
	var list []neonDot
	for rows := 1; rows <= neonDotRows; rows++ {
		for cols := 1; cols <= dotCols; cols++ {
			list = append(list, neonDot{rows, cols})
		}
	}
	return list
}

func (d neonDot) choice() int { return d.rows<<3 | d.cols }

func (d neonDot) signature() string {
	return fmt.Sprintf("neondot%dx%d(t *tile[float32])", d.rows, d.cols)
}

func (d neonDot) acc(r, c int) string { return asm.NEON.Vector(r*d.cols + c) }

func (d neonDot) emit(w *asm.Writer) {
	neonBegin(w, d.signature())
	neonFields(w, "tile", "a", "R8", "c", "R1", "k", "R3", "b", "R12")
	neonStrides(w, "tile", "as", "R4", "bs", "R5", "cs", "R2")
	neonRows(w, d.rows, "R4")
	for c := 1; c < d.cols; c++ {
		w.Op("ADD", "R5", neonRow(3+c), neonRow(4+c))
	}
	neonClear(w, d.rows*d.cols)
	for i, step := range []int{8, 4, 1} {
		label := fmt.Sprintf("step%d", i)
		w.Op("SUBS", fmt.Sprintf("$%d", step), "R3")
		w.Op("BLT", label+"end")
		w.Label(label)
		d.emitStep(w, []string{"FLDPQ.P", "FMOVQ.P", "FMOVS.P"}[i], 4*step)
		w.Op("SUBS", fmt.Sprintf("$%d", step), "R3")
		w.Op("BGE", label)
		w.Label(label + "end")
		w.Op("ADD", fmt.Sprintf("$%d", step), "R3")
	}
	w.Op("MOVWU", "tile_beta(R0)", "R3")
	for r := range d.rows {
		d.emitSums(w, r)
	}
	w.Return()
}

// emitStep adds the products of two vectors, a vector or an element of each row.
func (d neonDot) emitStep(w *asm.Writer, load string, size int) {
	pair := func(first int) []string { return []string{w.Vector(first), w.Vector(first + 1)} }
	a := func(r int) []string { return pair(16 + 2*r) }
	read := func(row int, to []string) {
		registers := asm.Scalar(to[0])
		if size == 32 {
			registers = fmt.Sprintf("(%s, %s)", registers, asm.Scalar(to[1]))
		}
		w.Op(load, at(size, neonRow(row)), registers)
	}
	for r := range d.rows {
		read(r, a(r))
	}
	for c := range d.cols {
		b := pair(24 + 2*(c%2))
		read(4+c, b)
		for half := range max(1, size/16) {
			for r := range d.rows {
				w.Neon("VFMLA", asm.Singles, b[half], a(r)[half], d.acc(r, c))
			}
		}
	}
}

// emitSums writes row r of C: it adds pairs of lanes of two registers, then pairs of the results of
// four.
func (d neonDot) emitSums(w *asm.Writer, r int) {
	s := func(c int) string { return d.acc(r, min(c, d.cols-1)) } // the sums of missing columns are not stored
	w.Neon("FADDP", asm.Singles, s(1), s(0), "V30")
	w.Neon("FADDP", asm.Singles, s(3), s(2), "V31")
	w.Neon("FADDP", asm.Singles, "V31", "V30", "V30")
	store := fmt.Sprintf("store%d", r)
	w.Op("CBZ", "R3", store)
	w.LoadLanes(d.cols, 0, "R1", "V31", neonScratch)
	w.Neon("FADD", asm.Singles, "V31", "V30", "V30")
	w.Label(store)
	w.StoreLanes("V30", d.cols, 0, "R1", neonScratch)
	w.Op("ADD", "R2", "R1")
}

// neonTranspose is square for NEON.
type neonTranspose struct{}

func (neonTranspose) signature() string {
	return "neonTranspose(dst *float32, ds int, src *float32, ss int, squares int)"
}

func (neonTranspose) emit(w *asm.Writer) {
	w.Function(neonTranspose{}.signature(), 0, 40)
	w.List(`
		MOVD dst+0(FP), R1
		MOVD ds+8(FP), R2
		LSL $2, R2
		MOVD src+16(FP), R8
		MOVD ss+24(FP), R4
		LSL $2, R4
		MOVD squares+32(FP), R3
	`, nil)
	neonRows(w, 4, "R4")
	w.Label("square")
	for r := range 4 {
		w.Op("FMOVQ.P", at(16, neonRow(r)), fmt.Sprintf("F%d", r))
	}
	neonSquare(w, 0, 4)
	for r := range 4 {
		w.Op("FMOVQ", fmt.Sprintf("F%d", r), "(R1)")
		w.Op("ADD", "R2", "R1")
	}
	w.List(`
		SUBS $1, R3
		BNE square
	`, nil)
	w.Return()
}

// neonSquare transposes the rows in four registers, with four others.
func neonSquare(w *asm.Writer, first, scratch int) {
	w.List(`
		VTRN1 x1.S4, x0.S4, t0.S4
		VTRN2 x1.S4, x0.S4, t1.S4
		VTRN1 x3.S4, x2.S4, t2.S4
		VTRN2 x3.S4, x2.S4, t3.S4
		VTRN1 t2.D2, t0.D2, x0.D2
		VTRN1 t3.D2, t1.D2, x1.D2
		VTRN2 t2.D2, t0.D2, x2.D2
		VTRN2 t3.D2, t1.D2, x3.D2
	`, asm.Names{"x": func(i int) string { return w.Vector(first + i) }, "t": func(i int) string { return w.Vector(scratch + i) }})
}

// neonGemv is gemv for NEON: two vectors of four rows of x each.
type neonGemv struct{ vectors int }

func (k neonGemv) signature() string {
	return fmt.Sprintf("neonGemv%d(t *gemvTile[float32])", k.vectors)
}

// The vector registers hold the sums, then two squares of x, registers to transpose them, and four
// elements of each vector.
func (k neonGemv) emit(w *asm.Writer) {
	const x, elements = 8, 20
	neonBegin(w, k.signature())
	neonFields(w, "gemv", "y", "R1", "a", "R4", "x", "R8", "squares", "R3")
	neonStrides(w, "gemv", "ys", "R2", "as", "R20", "xs", "R5")
	w.Op("LSL", "$1", "R3") // squares of four elements
	neonRows(w, 8, "R5")
	for v := 1; v < k.vectors; v++ {
		w.Op("ADD", "R20", fmt.Sprintf("R%d", 3+v), fmt.Sprintf("R%d", 4+v))
	}
	neonClear(w, 2*k.vectors)
	w.Label("square")
	for r := range 8 {
		w.Op("FMOVQ.P", at(16, neonRow(r)), asm.Scalar(w.Vector(x+r)))
	}
	for v := range k.vectors {
		w.Op("FMOVQ.P", at(16, fmt.Sprintf("R%d", 4+v)), asm.Scalar(w.Vector(elements+v)))
	}
	neonSquare(w, x, x+8)
	neonSquare(w, x+4, x+8)
	for i := range 4 {
		for v := range k.vectors {
			w.NeonLane(w.Vector(elements+v), i, w.Vector(x+i), w.Vector(2*v))
			w.NeonLane(w.Vector(elements+v), i, w.Vector(x+4+i), w.Vector(2*v+1))
		}
	}
	w.List(`
		SUBS $1, R3
		BNE square
	`, nil)
	for v := range k.vectors {
		w.Op("FSTPQ", fmt.Sprintf("(F%d, F%d)", 2*v, 2*v+1), "(R1)")
		w.Op("ADD", "R2", "R1")
	}
	w.Return()
}
