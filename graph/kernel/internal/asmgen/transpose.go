package main

import "fmt"

// square is the transpose of squares of lanes x lanes elements, side by side in src
// and one under another in dst.
type square struct{ isa }

func (q square) name() string { return q.isa.name + "Transpose" }

// declaration is the Go side of the function; distances are in elements.
func (q square) declaration() string {
	return "func " + q.name() + "(dst *float32, ds int, src *float32, ss int, squares int)"
}

// Each square is read into the first registers, a row in each. Groups of four rows are
// transposed within 128-bit quarters of the vectors, then the quarters change places.
func (q square) emit(w *writer) {
	w.line("")
	w.line("// %s", q.declaration())
	w.line("TEXT ·%s(SB), NOSPLIT, $0-40", q.name())
	w.op("MOVQ", "dst+0(FP)", "DI")
	w.op("MOVQ", "ds+8(FP)", "BX")
	w.op("SHLQ", "$2", "BX")
	w.op("MOVQ", "src+16(FP)", "SI")
	w.op("MOVQ", "ss+24(FP)", "AX")
	w.op("SHLQ", "$2", "AX")
	w.op("MOVQ", "squares+32(FP)", "CX")
	w.label("square")
	w.op("MOVQ", "SI", "DX")
	for r := range q.lanes {
		w.op("VMOVUPS", "(DX)", q.vector(r))
		w.op("ADDQ", "AX", "DX")
	}
	for g := 0; g < q.lanes; g += 4 {
		q.emitQuarters(w, g)
	}
	for i := range 4 {
		q.emitExchange(w, i)
	}
	for r := range q.lanes {
		w.op("VMOVUPS", q.vector(q.output(r)), "(DI)")
		w.op("ADDQ", "BX", "DI")
	}
	w.op("ADDQ", fmt.Sprintf("$%d", q.bytes()), "SI")
	w.op("DECQ", "CX")
	w.op("JNZ", "square")
	w.op("VZEROUPPER")
	w.op("RET")
}

// emitQuarters transposes the 4 x 4 quarters of rows g to g+3: quarter L of register
// g+i then holds column 4L+i of these rows.
func (q square) emitQuarters(w *writer, g int) {
	t := func(i int) string { return q.vector(q.lanes + i) }
	row := func(i int) string { return q.vector(g + i) }
	w.op("VUNPCKLPS", row(1), row(0), t(0))
	w.op("VUNPCKHPS", row(1), row(0), t(1))
	w.op("VUNPCKLPS", row(3), row(2), t(2))
	w.op("VUNPCKHPS", row(3), row(2), t(3))
	w.op("VUNPCKLPD", t(2), t(0), row(0))
	w.op("VUNPCKHPD", t(2), t(0), row(1))
	w.op("VUNPCKLPD", t(3), t(1), row(2))
	w.op("VUNPCKHPD", t(3), t(1), row(3))
}

// emitExchange gathers the quarters of columns i, 4+i, 8+i ... from the registers of
// the same numbers.
func (q square) emitExchange(w *writer, i int) {
	if q.lanes == 8 {
		w.op("VPERM2F128", "$0x20", q.vector(4+i), q.vector(i), q.vector(q.output(i)))
		w.op("VPERM2F128", "$0x31", q.vector(4+i), q.vector(i), q.vector(4+i))
		return
	}
	const even, odd = "$0x88", "$0xdd" // quarters 0, 2 or 1, 3 of either source
	t := func(n int) string { return q.vector(16 + 4*i + n) }
	w.op("VSHUFF32X4", even, q.vector(4+i), q.vector(i), t(0))
	w.op("VSHUFF32X4", odd, q.vector(4+i), q.vector(i), t(1))
	w.op("VSHUFF32X4", even, q.vector(12+i), q.vector(8+i), t(2))
	w.op("VSHUFF32X4", odd, q.vector(12+i), q.vector(8+i), t(3))
	w.op("VSHUFF32X4", even, t(2), t(0), q.vector(i))
	w.op("VSHUFF32X4", even, t(3), t(1), q.vector(4+i))
	w.op("VSHUFF32X4", odd, t(2), t(0), q.vector(8+i))
	w.op("VSHUFF32X4", odd, t(3), t(1), q.vector(12+i))
}

// output is the register that holds row r of the transpose.
func (q square) output(r int) int {
	if q.lanes == 8 && r < 4 {
		return 8 + r
	}
	return r
}
