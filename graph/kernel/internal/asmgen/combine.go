package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// combine is a micro-kernel for sums of few long rows with given coefficients,
//
//	C = A B + A2 B2 + D
//
// where each row of C is a combination of the rows of B and B2. It walks along the rows, with a
// panel of all of C's rows in registers: for so small an A, dividing the product into tiles would
// take longer than computing it.
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

func (k combine) name() string { return fmt.Sprintf("%scombine%d", k.isa.Name, k.rows) }

// vecs returns the number of vectors of a row in a panel.
func (k combine) vecs() int {
	if 2*(k.rows+1)+2 <= k.Registers { // accumulators and B, one of A, the mask
		return 2
	}
	return 1
}

// The general registers of combine that differ from those of the product.
const (
	regA4   = "R8"  // A at the step, fourth row
	regRS   = "R9"  // bytes between A's coefficients for one row of C and the next
	regRS3  = "R10" // three times that
	regKS   = "R11" // bytes between its coefficients for one row of B and the next
	regLeft = "R12" // columns left
	regOff  = "R13" // bytes from the start of a row to the panel
)

func (k combine) acc(r, v, vecs int) string { return k.Vector(r*vecs + v) }
func (k combine) b(v, vecs int) string      { return k.Vector(k.rows*vecs + v) }
func (k combine) coefficient(vecs int) string {
	return k.Vector((k.rows + 1) * vecs)
}

func (k combine) signature() string { return k.name() + "(t *combineTile[float32])" }

func (k combine) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 8)
	w.List(`
		MOVQ t+0(FP), AX
		MOVQ combine_d(AX), R15
		MOVQ combine_cols(AX), R12 // columns left
		MOVQ R12, BX               // bytes of a row
		SHLQ $2, BX
		XORL R13, R13 // bytes from the start of a row to the panel
	`, nil)
	wide := k.vecs() * k.Lanes
	walk(w, "panel", regLeft, wide, func() {
		k.emitPanel(w, "panel", k.vecs(), false)
		w.OpNumber("ADDQ", 4*wide, regOff)
	}, func() {
		k.emitMask(w)
		k.emitPanel(w, "rest", 1, true)
		w.OpNumber("ADDQ", k.Size(), regOff)
	})
}

// emitMask sets the mask to the regLeft elements that are left, at most a whole vector.
func (k combine) emitMask(w *asm.Writer) {
	if !k.Masks {
		setMask(w, regLeft, "")
		return
	}
	w.List(`
		MOVQ R12, CX
		CMPQ CX, $lanes
		JLE mask
		MOVL $lanes, CX
		mask:
	`, asm.Names{"lanes": k.Lanes})
	setMask(w, "CX", "DI")
}

// emitPanel computes vecs vectors of every row.
func (k combine) emitPanel(w *asm.Writer, label string, vecs int, masked bool) {
	for r := range k.rows {
		for v := range vecs {
			zero(w, k.acc(r, v, vecs))
		}
	}
	k.emitTerm(w, label+"1", "", vecs, masked)
	labels := asm.Names{"add": label + "add", "store": label + "store"}
	w.List(`
		CMPQ combine_k2(AX), $0
		JEQ add
	`, labels)
	k.emitTerm(w, label+"2", "2", vecs, masked)
	w.List(`
		add:
		MOVQ combine_c(AX), DX
		ADDQ R13, DX
		TESTQ R15, R15 // no addend
		JEQ store
		MOVQ R15, DI
		ADDQ R13, DI
	`, labels)
	for r := range k.rows {
		k.emitLoads(w, vecs, masked)
		for v := range vecs {
			w.Op("VADDPS", k.b(v, vecs), k.acc(r, v, vecs), k.acc(r, v, vecs))
		}
	}
	w.Label(label + "store")
	for r := range k.rows {
		for v := range vecs {
			w.Store(k.acc(r, v, vecs), at(v*k.Size(), regC), masked)
		}
		if r < k.rows-1 {
			w.Op("ADDQ", regCS, regC)
		}
	}
}

// emitTerm adds A B, or A2 B2.
func (k combine) emitTerm(w *asm.Writer, label, term string, vecs int, masked bool) {
	fields(w, "combine", "a"+term, regA[0], "b"+term, regB, "k"+term, regK, "rs"+term, regRS, "ks"+term, regKS)
	triple(w, regRS, regRS3)
	if k.rows > 4 {
		w.Op("LEAQ", fmt.Sprintf("(%s)(%s*4)", regA[0], regRS), regA4)
	}
	w.Op("ADDQ", regOff, regB)
	w.Label(label)
	k.emitLoads(w, vecs, masked)
	a := k.coefficient(vecs)
	for r := range k.rows {
		from := regA[0]
		if r >= 4 {
			from = regA4
		}
		w.Op("VBROADCASTSS", rowAddress(from, regRS, regRS3, r%4), a)
		for v := range vecs {
			w.Op("VFMADD231PS", k.b(v, vecs), a, k.acc(r, v, vecs))
		}
	}
	w.Op("ADDQ", regKS, regA[0])
	if k.rows > 4 {
		w.Op("ADDQ", regKS, regA4)
	}
	w.Op("DECQ", regK)
	w.Op("JNZ", label)
}

// emitLoads loads B's vectors of the panel from regB and goes to the next row.
func (k combine) emitLoads(w *asm.Writer, vecs int, masked bool) {
	for v := range vecs {
		w.Load(at(v*k.Size(), regB), k.b(v, vecs), masked)
	}
	w.Op("ADDQ", regCS, regB)
}
