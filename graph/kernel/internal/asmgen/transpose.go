package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// square transposes squares of lanes x lanes elements, which lie side by side in src and one under
// another in dst.
type square struct{ isa }

func (q square) name() string { return q.isa.Name + "Transpose" }

// signature returns the function's signature; distances are in elements.
func (q square) signature() string {
	return q.name() + "(dst *float32, ds int, src *float32, ss int, squares int)"
}

// Each square is read into the first registers, one row in each.
func (q square) emit(w *asm.Writer) {
	w.Function(q.signature(), 0, 40)
	w.List(`
		MOVQ dst+0(FP), DI
		MOVQ ds+8(FP), BX
		SHLQ $2, BX
		MOVQ src+16(FP), SI
		MOVQ ss+24(FP), AX
		SHLQ $2, AX
		MOVQ squares+32(FP), CX
		square:
		MOVQ SI, DX
	`, nil)
	for r := range q.Lanes {
		w.Op("VMOVUPS", "(DX)", q.Vector(r))
		w.Op("ADDQ", "AX", "DX")
	}
	q.emitTranspose(w)
	for r := range q.Lanes {
		w.Op("VMOVUPS", q.Vector(q.output(r)), "(DI)")
		w.Op("ADDQ", "BX", "DI")
	}
	w.List(`
		ADDQ $size, SI
		DECQ CX
		JNZ square
	`, asm.Names{"size": q.Size()})
	w.Return()
}

// emitTranspose transposes groups of four rows within 128-bit quarters of the vectors, then
// exchanges the quarters: after the first step quarter L of register g+i holds column 4L+i of rows
// g to g+3, and the second gathers the quarters of columns i, 4+i, 8+i ... from the registers of
// the same numbers.
func (q square) emitTranspose(w *asm.Writer) {
	from := func(first int) func(int) string {
		return func(i int) string { return q.Vector(first + i) }
	}
	for g := 0; g < q.Lanes; g += 4 {
		w.List(`
			VUNPCKLPS row1, row0, t0
			VUNPCKHPS row1, row0, t1
			VUNPCKLPS row3, row2, t2
			VUNPCKHPS row3, row2, t3
			VUNPCKLPD t2, t0, row0
			VUNPCKHPD t2, t0, row1
			VUNPCKLPD t3, t1, row2
			VUNPCKHPD t3, t1, row3
		`, asm.Names{"row": from(g), "t": from(q.Lanes)})
	}
	exchange := `
		VSHUFF32X4 $0x88, x4, x0, t0 // quarters 0 and 2 of either source
		VSHUFF32X4 $0xdd, x4, x0, t1 // quarters 1 and 3
		VSHUFF32X4 $0x88, x12, x8, t2
		VSHUFF32X4 $0xdd, x12, x8, t3
		VSHUFF32X4 $0x88, t2, t0, x0
		VSHUFF32X4 $0x88, t3, t1, x4
		VSHUFF32X4 $0xdd, t2, t0, x8
		VSHUFF32X4 $0xdd, t3, t1, x12
	`
	if q.Lanes == 8 {
		exchange = `
			VPERM2F128 $0x20, x4, x0, x8
			VPERM2F128 $0x31, x4, x0, x4
		`
	}
	for i := range 4 {
		w.List(exchange, asm.Names{"x": from(i), "t": from(16 + 4*i)})
	}
}

// output returns the register that holds row r of the transpose.
func (q square) output(r int) int {
	if q.Lanes == 8 && r < 4 {
		return 8 + r
	}
	return r
}

// partSquare transposes a part of a square, of which only the first rows and columns exist.
type partSquare struct{ isa }

func (q partSquare) name() string { return q.isa.Name + "TransposePart" }

// signature returns the function's signature; distances are in elements.
func (q partSquare) signature() string {
	return q.name() + "(dst *float32, ds int, src *float32, ss int, rows, columns int)"
}

// Rows that do not exist are not read, so that their registers, and with them the lanes that no
// store writes, hold what they held before.
func (q partSquare) emit(w *asm.Writer) {
	w.Function(q.signature(), 0, 48)
	w.List(`
		MOVQ dst+0(FP), DI
		MOVQ ds+8(FP), BX
		SHLQ $2, BX
		MOVQ src+16(FP), SI
		MOVQ ss+24(FP), AX
		SHLQ $2, AX
		MOVQ rows+32(FP), R8
		MOVQ columns+40(FP), R9
	`, nil)
	load := func(half bool) func(int) {
		return func(r int) {
			if half {
				w.Op("VMOVUPS", "(SI)", q.Half(q.Vector(r)))
			} else {
				w.Load("(SI)", q.Vector(r), true)
			}
			w.Op("ADDQ", "AX", "SI")
		}
	}
	if q.Masks { // without a mask, see microkernel.halves
		w.Op("CMPQ", "R9", fmt.Sprintf("$%d", q.Lanes/2))
		w.Op("JEQ", "half")
	}
	q.emitMasked(w, "R9", "R8", "loaded", load(false))
	if q.Masks {
		w.Op("JMP", "loaded")
		w.Label("half")
		q.emitEach(w, "R8", "loaded", load(true))
	}
	w.Label("loaded")
	square(q).emitTranspose(w)
	store := func(masked bool) func(int) {
		return func(c int) {
			w.Store(q.Vector(square(q).output(c)), "(DI)", masked)
			w.Op("ADDQ", "BX", "DI")
		}
	}
	w.Op("CMPQ", "R8", fmt.Sprintf("$%d", q.Lanes))
	w.Op("JEQ", "whole")
	q.emitMasked(w, "R8", "R9", "done", store(true))
	w.Op("JMP", "done")
	w.Label("whole")
	q.emitEach(w, "R9", "done", store(false))
	w.Label("done")
	w.Return()
}

// emitMasked does what emitEach does, with the mask set to the first of the lanes.
func (q partSquare) emitMasked(w *asm.Writer, lanes, count, label string, one func(i int)) {
	w.Op("MOVQ", lanes, "CX")
	setMask(w, "CX", "R10")
	q.emitEach(w, count, label, one)
}

// emitEach writes the instructions for each of the first count vectors, and then jumps to a label.
func (q partSquare) emitEach(w *asm.Writer, count, label string, one func(i int)) {
	for i := range q.Lanes {
		if i > 0 {
			w.Op("CMPQ", count, fmt.Sprintf("$%d", i))
			w.Op("JEQ", label)
		}
		one(i)
	}
}
