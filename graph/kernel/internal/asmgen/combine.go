package main

import "fmt"

// combine is a micro-kernel for sums of few long rows with given coefficients,
//
//	C = A B + A2 B2 + D
//
// each row of C being a combination of the rows of B and B2. It walks along the rows, all
// of C's in registers at once: a product whose A is as small as this would take longer to
// be cut into tiles than to be computed.
type combine struct {
	isa
	rows int
}

// combineRows is the largest number of rows.
const combineRows = 8

// combineFields are the 8-byte fields of kernel.combineTile[float32], in order. A test of
// package kernel compares them with the struct.
var combineFields = []string{"c", "d", "a", "b", "k", "rs", "ks", "a2", "b2", "k2", "rs2", "ks2", "cols"}

func (s isa) combines() []combine {
	var list []combine
	for rows := 1; rows <= combineRows; rows++ {
		list = append(list, combine{s, rows})
	}
	return list
}

func (k combine) name() string { return fmt.Sprintf("%scombine%d", k.isa.name, k.rows) }

// vecs is the number of vectors of a row in a panel.
func (k combine) vecs() int {
	if 2*(k.rows+1)+2 <= k.registers { // accumulators and B, one of A, the mask
		return 2
	}
	return 1
}

// General registers of combine, where they differ from the product's.
const (
	regA4   = "R8"  // A at the step, fourth row
	regRS   = "R9"  // bytes between A's coefficients for one row of C and the next
	regRS3  = "R10" // three times that
	regKS   = "R11" // bytes between its coefficients for one row of B and the next
	regLeft = "R12" // columns left
	regOff  = "R13" // bytes from a row's begin to the panel
)

func (k combine) acc(r, v, vecs int) string { return k.vector(r*vecs + v) }
func (k combine) b(v, vecs int) string      { return k.vector(k.rows*vecs + v) }
func (k combine) coefficient(vecs int) string {
	return k.vector((k.rows + 1) * vecs)
}

func (k combine) mask() string {
	if k.masks {
		return "K1"
	}
	return k.vector(k.registers - 1)
}

func (k combine) emit(w *writer) {
	w.line("\n// func %s(t *combineTile[float32])", k.name())
	w.line("TEXT ·%s(SB), NOSPLIT, $0-8", k.name())
	w.op("MOVQ", "t+0(FP)", regTile)
	w.op("MOVQ", "combine_d(AX)", regD)
	w.op("MOVQ", "combine_cols(AX)", regLeft)
	w.op("MOVQ", regLeft, regCS)
	w.op("SHLQ", "$2", regCS)
	w.op("XORL", regOff, regOff)
	wide := k.vecs() * k.lanes
	w.op("SUBQ", fmt.Sprintf("$%d", wide), regLeft)
	w.op("JLT", "few")
	w.label("panel")
	k.emitPanel(w, "panel", k.vecs(), false)
	w.op("ADDQ", fmt.Sprintf("$%d", 4*wide), regOff)
	w.op("SUBQ", fmt.Sprintf("$%d", wide), regLeft)
	w.op("JGE", "panel")
	w.label("few")
	w.op("ADDQ", fmt.Sprintf("$%d", wide), regLeft)
	w.op("JLE", "done")
	w.label("rest")
	k.emitMask(w)
	k.emitPanel(w, "rest", 1, true)
	w.op("ADDQ", fmt.Sprintf("$%d", k.bytes()), regOff)
	w.op("SUBQ", fmt.Sprintf("$%d", k.lanes), regLeft)
	w.op("JGT", "rest")
	w.label("done")
	w.op("VZEROUPPER")
	w.op("RET")
}

// emitMask makes the mask of the regLeft elements that are left, or of a whole vector.
func (k combine) emitMask(w *writer) {
	if !k.masks {
		w.op("VMOVD", regLeft, "X"+k.mask()[1:])
		w.op("VPBROADCASTD", "X"+k.mask()[1:], k.mask())
		w.op("VPCMPGTD", "lanes<>(SB)", k.mask(), k.mask())
		return
	}
	w.op("MOVQ", regLeft, "CX")
	w.op("CMPQ", "CX", fmt.Sprintf("$%d", k.lanes))
	w.op("JLE", "mask")
	w.op("MOVL", fmt.Sprintf("$%d", k.lanes), "CX")
	w.label("mask")
	w.op("MOVL", "$1", "DI")
	w.op("SHLL", "CX", "DI")
	w.op("DECL", "DI")
	w.op("KMOVW", "DI", k.mask())
}

// emitPanel computes vecs vectors of every row.
func (k combine) emitPanel(w *writer, label string, vecs int, masked bool) {
	for r := range k.rows {
		for v := range vecs {
			k.zero(w, k.acc(r, v, vecs))
		}
	}
	k.emitTerm(w, label+"1", "", vecs, masked)
	w.op("CMPQ", "combine_k2(AX)", "$0")
	w.op("JEQ", label+"add")
	k.emitTerm(w, label+"2", "2", vecs, masked)
	w.label(label + "add")
	w.op("MOVQ", "combine_c(AX)", regC)
	w.op("ADDQ", regOff, regC)
	w.op("TESTQ", regD, regD)
	w.op("JEQ", label+"store")
	w.op("MOVQ", regD, regB)
	w.op("ADDQ", regOff, regB)
	for r := range k.rows {
		k.emitLoads(w, vecs, masked)
		for v := range vecs {
			w.op("VADDPS", k.b(v, vecs), k.acc(r, v, vecs), k.acc(r, v, vecs))
		}
	}
	w.label(label + "store")
	for r := range k.rows {
		for v := range vecs {
			k.emitMove(w, k.acc(r, v, vecs), fmt.Sprintf("%d(%s)", v*k.bytes(), regC), masked, false)
		}
		if r < k.rows-1 {
			w.op("ADDQ", regCS, regC)
		}
	}
}

// emitTerm adds A B, or A2 B2.
func (k combine) emitTerm(w *writer, label, term string, vecs int, masked bool) {
	w.op("MOVQ", "combine_a"+term+"(AX)", regA[0])
	w.op("MOVQ", "combine_b"+term+"(AX)", regB)
	w.op("MOVQ", "combine_k"+term+"(AX)", regK)
	w.op("MOVQ", "combine_rs"+term+"(AX)", regRS)
	w.op("MOVQ", "combine_ks"+term+"(AX)", regKS)
	w.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", regRS, regRS), regRS3)
	if k.rows > 4 {
		w.op("LEAQ", fmt.Sprintf("(%s)(%s*4)", regA[0], regRS), regA4)
	}
	w.op("ADDQ", regOff, regB)
	w.label(label)
	k.emitLoads(w, vecs, masked)
	a := k.coefficient(vecs)
	for r := range k.rows {
		from := regA[0]
		if r >= 4 {
			from = regA4
		}
		w.op("VBROADCASTSS", rowAddress(from, regRS, regRS3, r%4), a)
		for v := range vecs {
			w.op("VFMADD231PS", k.b(v, vecs), a, k.acc(r, v, vecs))
		}
	}
	w.op("ADDQ", regKS, regA[0])
	if k.rows > 4 {
		w.op("ADDQ", regKS, regA4)
	}
	w.op("DECQ", regK)
	w.op("JNZ", label)
}

// emitLoads loads B's vectors of the panel from regB and goes to the next row.
func (k combine) emitLoads(w *writer, vecs int, masked bool) {
	for v := range vecs {
		k.emitMove(w, fmt.Sprintf("%d(%s)", v*k.bytes(), regB), k.b(v, vecs), masked, true)
	}
	w.op("ADDQ", regCS, regB)
}

// emitMove loads or stores a vector.
func (k combine) emitMove(w *writer, from, to string, masked, load bool) {
	switch {
	case !masked:
		w.op("VMOVUPS", from, to)
	case k.masks && load:
		w.op("VMOVUPS.Z", from, k.mask(), to)
	case k.masks:
		w.op("VMOVUPS", from, k.mask(), to)
	default:
		w.op("VMASKMOVPS", from, k.mask(), to)
	}
}
