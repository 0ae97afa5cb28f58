package main

import "fmt"

// dot is a micro-kernel of the product C = A B^T + beta C, beta 0 or 1, whose long axis k
// is the inner one of both operands: rows x cols sums of products of rows. A vector of
// partial sums each stays in a register; at the end four at a time are added up together.
type dot struct {
	isa
	rows, cols int
}

// dotCols is the largest number of columns: what one 128-bit store writes.
const dotCols = 4

// dots lists the kernels of an instruction set.
func (s isa) dots() []dot {
	var list []dot
	for rows := 1; rows <= s.dotRows; rows++ {
		for cols := 1; cols <= dotCols; cols++ {
			list = append(list, dot{s, rows, cols})
		}
	}
	return list
}

func (d dot) name() string { return fmt.Sprintf("%sdot%dx%d", d.isa.name, d.rows, d.cols) }

// choice is the number that the kernel's switch case has in declare.
func (d dot) choice() int { return d.rows<<3 | d.cols }

// General registers of dot, where they differ from the product's.
const (
	regA1   = "SI"  // A at the step
	regRows = "R12" // bytes between rows of A
	regA3   = "R8"  // three times that
	regB3   = "R9"  // three times the bytes between rows of B
)

func (d dot) acc(r, c int) string { return d.vector(r*d.cols + c) }
func (d dot) a(r int) string      { return d.vector(d.rows*d.cols + r) }
func (d dot) b() string           { return d.vector((d.cols + 1) * d.rows) }

// spare returns registers that the sums at the end may use.
func (d dot) spare(i int) string { return d.vector((d.cols+1)*d.rows + 1 + i) }

func (d dot) mask() string {
	if d.masks {
		return "K1"
	}
	return d.vector(d.registers - 1)
}

func (d dot) emit(w *writer) {
	w.line("\n// func %s(t *tile[float32])", d.name())
	w.line("TEXT ·%s(SB), NOSPLIT, $0-8", d.name())
	d.emitArguments(w)
	for r := range d.rows {
		for c := range d.cols {
			d.zero(w, d.acc(r, c))
		}
	}
	w.op("SUBQ", fmt.Sprintf("$%d", d.lanes), regK)
	w.op("JLT", "rest")
	w.label("step")
	d.emitStep(w, false)
	w.op("ADDQ", fmt.Sprintf("$%d", d.bytes()), regA1)
	w.op("ADDQ", fmt.Sprintf("$%d", d.bytes()), regB)
	w.op("SUBQ", fmt.Sprintf("$%d", d.lanes), regK)
	w.op("JGE", "step")
	w.label("rest")
	w.op("ADDQ", fmt.Sprintf("$%d", d.lanes), regK)
	w.op("JZ", "sum")
	d.emitMask(w)
	d.emitStep(w, true)
	w.label("sum")
	for r := range d.rows {
		d.emitSums(w, r)
	}
	w.op("VZEROUPPER")
	w.op("RET")
}

func (d dot) emitArguments(w *writer) {
	w.op("MOVQ", "t+0(FP)", regTile)
	w.op("MOVQ", "tile_a(AX)", regA1)
	w.op("MOVQ", "tile_b(AX)", regB)
	w.op("MOVQ", "tile_c(AX)", regC)
	w.op("MOVQ", "tile_k(AX)", regK)
	for _, stride := range [][2]string{{"as", regRows}, {"bs", regBS}, {"cs", regCS}} {
		w.op("MOVQ", "tile_"+stride[0]+"(AX)", stride[1])
		w.op("SHLQ", "$2", stride[1])
	}
	w.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", regRows, regRows), regA3)
	w.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", regBS, regBS), regB3)
}

// zero clears a register.
func (s isa) zero(w *writer, register string) {
	if s.masks {
		w.op("VPXORD", register, register, register)
	} else {
		w.op("VXORPS", register, register, register)
	}
}

// emitMask makes the mask of the regK elements that are left.
func (d dot) emitMask(w *writer) {
	if d.masks {
		w.op("MOVL", "$1", "R10")
		w.op("SHLL", regK, "R10")
		w.op("DECL", "R10")
		w.op("KMOVW", "R10", d.mask())
		return
	}
	w.op("VMOVD", regK, "X"+d.mask()[1:])
	w.op("VPBROADCASTD", "X"+d.mask()[1:], d.mask())
	w.op("VPCMPGTD", "lanes<>(SB)", d.mask(), d.mask())
}

// emitStep adds the products of one vector of each row.
func (d dot) emitStep(w *writer, masked bool) {
	for r := range d.rows {
		d.emitLoad(w, rowAddress(regA1, regRows, regA3, r), d.a(r), masked)
	}
	for c := range d.cols {
		d.emitLoad(w, rowAddress(regB, regBS, regB3, c), d.b(), masked)
		for r := range d.rows {
			w.op("VFMADD231PS", d.b(), d.a(r), d.acc(r, c))
		}
	}
}

// rowAddress is where row i begins, of at most four.
func rowAddress(base, stride, triple string, i int) string {
	switch i {
	case 0:
		return fmt.Sprintf("(%s)", base)
	case 3:
		return fmt.Sprintf("(%s)(%s*1)", base, triple)
	}
	return fmt.Sprintf("(%s)(%s*%d)", base, stride, i)
}

func (d dot) emitLoad(w *writer, from, to string, masked bool) {
	switch {
	case !masked:
		w.op("VMOVUPS", from, to)
	case d.masks:
		w.op("VMOVUPS.Z", from, d.mask(), to)
	default:
		w.op("VMASKMOVPS", from, d.mask(), to)
	}
}

// emitSums writes row r of C. Within each 128-bit quarter, pairs of lanes of two
// registers are added, then pairs of these of all four; then the quarters are added up.
func (d dot) emitSums(w *writer, r int) {
	var s [dotCols]string
	for c := range s {
		s[c] = d.acc(r, min(c, d.cols-1)) // sums of columns that are not there are not stored
	}
	low, high, other := d.spare(0), d.spare(1), d.spare(2)
	w.op("VUNPCKLPS", s[1], s[0], low)
	w.op("VUNPCKHPS", s[1], s[0], high)
	w.op("VADDPS", high, low, low)
	w.op("VUNPCKLPS", s[3], s[2], other)
	w.op("VUNPCKHPS", s[3], s[2], high)
	w.op("VADDPS", high, other, other)
	w.op("VUNPCKLPD", other, low, high)
	w.op("VUNPCKHPD", other, low, other)
	total := s[0]
	w.op("VADDPS", other, high, total)
	d.emitQuarters(w, total, r)
	d.emitRow(w, "X"+total[1:], r)
}

// emitQuarters adds up the 128-bit quarters of a vector. The registers with which it does
// so must be among the first 16; the accumulators are, and those above are done with.
func (d dot) emitQuarters(w *writer, total string, r int) {
	part := d.lower(r)
	x, y := "X"+total[1:], "Y"+total[1:]
	if d.masks {
		w.op("VEXTRACTF64X4", "$1", total, "Y"+part)
		w.op("VADDPS", "Y"+part, y, y)
	}
	w.op("VEXTRACTF128", "$1", y, "X"+part)
	w.op("VADDPS", "X"+part, x, x)
}

// lower is the number of a register below 16 that holds nothing when row r is summed: its
// own second accumulator, or one beside the accumulators.
func (d dot) lower(r int) string {
	if d.cols > 1 {
		return d.acc(r, 1)[1:]
	}
	return d.a(0)[1:]
}

// emitRow adds C where beta is not zero, and stores.
func (d dot) emitRow(w *writer, x string, r int) {
	old := "X" + d.lower(r)
	store := fmt.Sprintf("store%d", r)
	w.op("CMPL", "tile_beta(AX)", "$0")
	w.op("JEQ", store)
	switch d.cols {
	case 1:
		w.op("VMOVSS", "(DX)", old)
	case 2:
		w.op("VMOVSD", "(DX)", old)
	case 3:
		w.op("VMOVSD", "(DX)", old)
		w.op("VINSERTPS", "$0x20", "8(DX)", old, old)
	case 4:
		w.op("VMOVUPS", "(DX)", old)
	}
	w.op("VADDPS", old, x, x)
	w.label(store)
	switch d.cols {
	case 1:
		w.op("VMOVSS", x, "(DX)")
	case 2:
		w.op("VMOVSD", x, "(DX)")
	case 3:
		w.op("VMOVSD", x, "(DX)")
		w.op("VEXTRACTPS", "$2", x, "8(DX)")
	case 4:
		w.op("VMOVUPS", x, "(DX)")
	}
	w.op("ADDQ", regCS, regC)
}
