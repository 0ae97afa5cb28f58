package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

// square transposes squares of lanes x lanes elements, which lie side by side in src and one under
// another in dst.
type square struct{ isa }

func (q square) name() string { return q.isa.Name + "Transpose" }

// signature returns the function's signature; distances are in elements.
func (q square) signature() string {
	return q.name() + "(dst *float32, ds int, src *float32, ss int, squares int)"
}

// Each square is read into the first registers, one row in each. Groups of four rows are transposed
// within 128-bit quarters of the vectors, then the quarters are exchanged.
func (q square) emit(w *asm.Writer) {
	w.Function(q.signature(), 0, 40)
	w.Op("MOVQ", "dst+0(FP)", "DI")
	w.Op("MOVQ", "ds+8(FP)", "BX")
	w.Op("SHLQ", "$2", "BX")
	w.Op("MOVQ", "src+16(FP)", "SI")
	w.Op("MOVQ", "ss+24(FP)", "AX")
	w.Op("SHLQ", "$2", "AX")
	w.Op("MOVQ", "squares+32(FP)", "CX")
	w.Label("square")
	w.Op("MOVQ", "SI", "DX")
	for r := range q.Lanes {
		w.Op("VMOVUPS", "(DX)", q.Vector(r))
		w.Op("ADDQ", "AX", "DX")
	}
	for g := 0; g < q.Lanes; g += 4 {
		q.emitQuarters(w, g)
	}
	for i := range 4 {
		q.emitExchange(w, i)
	}
	for r := range q.Lanes {
		w.Op("VMOVUPS", q.Vector(q.output(r)), "(DI)")
		w.Op("ADDQ", "BX", "DI")
	}
	w.OpNumber("ADDQ", q.Size(), "SI")
	w.Op("DECQ", "CX")
	w.Op("JNZ", "square")
	w.Return()
}

// emitQuarters transposes the 4 x 4 quarters of rows g to g+3: afterwards quarter L of register g+i
// holds column 4L+i of these rows.
func (q square) emitQuarters(w *asm.Writer, g int) {
	t := func(i int) string { return q.Vector(q.Lanes + i) }
	row := func(i int) string { return q.Vector(g + i) }
	w.Op("VUNPCKLPS", row(1), row(0), t(0))
	w.Op("VUNPCKHPS", row(1), row(0), t(1))
	w.Op("VUNPCKLPS", row(3), row(2), t(2))
	w.Op("VUNPCKHPS", row(3), row(2), t(3))
	w.Op("VUNPCKLPD", t(2), t(0), row(0))
	w.Op("VUNPCKHPD", t(2), t(0), row(1))
	w.Op("VUNPCKLPD", t(3), t(1), row(2))
	w.Op("VUNPCKHPD", t(3), t(1), row(3))
}

// emitExchange gathers the quarters of columns i, 4+i, 8+i ... from the registers of
// the same numbers.
func (q square) emitExchange(w *asm.Writer, i int) {
	if q.Lanes == 8 {
		w.Op("VPERM2F128", "$0x20", q.Vector(4+i), q.Vector(i), q.Vector(q.output(i)))
		w.Op("VPERM2F128", "$0x31", q.Vector(4+i), q.Vector(i), q.Vector(4+i))
		return
	}
	const even, odd = "$0x88", "$0xdd" // quarters 0, 2 or 1, 3 of either source
	t := func(n int) string { return q.Vector(16 + 4*i + n) }
	w.Op("VSHUFF32X4", even, q.Vector(4+i), q.Vector(i), t(0))
	w.Op("VSHUFF32X4", odd, q.Vector(4+i), q.Vector(i), t(1))
	w.Op("VSHUFF32X4", even, q.Vector(12+i), q.Vector(8+i), t(2))
	w.Op("VSHUFF32X4", odd, q.Vector(12+i), q.Vector(8+i), t(3))
	w.Op("VSHUFF32X4", even, t(2), t(0), q.Vector(i))
	w.Op("VSHUFF32X4", even, t(3), t(1), q.Vector(4+i))
	w.Op("VSHUFF32X4", odd, t(2), t(0), q.Vector(8+i))
	w.Op("VSHUFF32X4", odd, t(3), t(1), q.Vector(12+i))
}

// output returns the register that holds row r of the transpose.
func (q square) output(r int) int {
	if q.Lanes == 8 && r < 4 {
		return 8 + r
	}
	return r
}
