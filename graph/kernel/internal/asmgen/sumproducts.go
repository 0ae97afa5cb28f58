package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

// sumProducts is a micro-kernel that adds products of rows, element by element,
//
//	out = addend + a_0 ⊙ b_0 + a_1 ⊙ b_1 + ...
//
// It walks along the rows with a panel of the sum in registers: each product takes two loads, and
// only the sum is stored.
type sumProducts struct{ isa }

// sumProductsFields are the 8-byte fields of kernel.sumProductsTile[float32], in order. A test of
// package kernel compares them with the struct.
var sumProductsFields = []string{"out", "addend", "a", "as", "b", "bs", "rows", "n"}

// sumProducts lists the kernels of an instruction set.
func (s isa) sumProducts() []sumProducts { return []sumProducts{{s}} }

func (k sumProducts) name() string { return k.isa.Name + "SumProducts" }

// sumProductsVectors is the number of vectors of a panel.
const sumProductsVectors = 4

// The general registers of sumProducts that differ from those of the product.
const (
	regAddend = "R15" // the addend at the panel, or 0
	regARow   = "R8"  // a at the row
	regBRow   = "R9"  // b at the row
	regElems  = "CX"  // elements left
)

func (k sumProducts) acc(v int) string { return k.Vector(v) }
func (k sumProducts) a(v int) string   { return k.Vector(sumProductsVectors + v) }
func (k sumProducts) b() string        { return k.Vector(2 * sumProductsVectors) }

func (k sumProducts) signature() string { return k.name() + "(t *sumProductsTile[float32])" }

func (k sumProducts) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 8)
	w.Op("MOVQ", "t+0(FP)", regTile)
	fields(w, "sumProducts", "out", regC, "addend", regAddend, "a", regA1, "as", regRows, "b", regB, "bs", regXS, "n", regElems)
	w.Op("SHLQ", "$2", regRows)
	w.Op("SHLQ", "$2", regXS)
	wide := sumProductsVectors * k.Lanes
	walk(w, "panel", regElems, wide, func() { k.emitPanel(w, "panel", sumProductsVectors, false) }, func() {
		k.emitMask(w)
		k.emitPanel(w, "rest", 1, true)
	})
}

// emitMask selects the elements left; up to 63 are, of which a vector takes the first ones.
func (k sumProducts) emitMask(w *asm.Writer) {
	if !k.Masks {
		setMask(w, regElems, "")
		return
	}
	w.List(`
		MOVQ $1, R10
		SHLQ CX, R10
		DECQ R10
		KMOVW R10, mask
	`, asm.Names{"mask": w.Mask()})
}

// emitPanel computes vecs vectors of the sum and advances to the next panel.
func (k sumProducts) emitPanel(w *asm.Writer, label string, vecs int, masked bool) {
	k.emitAddend(w, label, vecs, masked)
	names := asm.Names{"row": label + "row", "bytes": vecs * k.Size()}
	w.List(`
		MOVQ SI, R8
		MOVQ DI, R9
		MOVQ sumProducts_rows(AX), R10 // rows left
		row:
	`, names)
	for v := range vecs {
		w.Load(at(v*k.Size(), regARow), k.a(v), masked)
		from := at(v*k.Size(), regBRow)
		if masked {
			w.Load(from, k.b(), true)
			from = k.b()
		}
		w.Op("VFMADD231PS", from, k.a(v), k.acc(v))
	}
	w.List(`
		ADDQ R12, R8 // the next row of a
		ADDQ R13, R9 // the next row of b
		DECQ R10
		JNZ row
	`, names)
	for v := range vecs {
		w.Store(k.acc(v), at(v*k.Size(), regC), masked)
	}
	w.List(`
		ADDQ $bytes, DX // the next panel of out, a and b
		ADDQ $bytes, SI
		ADDQ $bytes, DI
	`, names)
}

// emitAddend starts a panel of the sum with the addend.
func (k sumProducts) emitAddend(w *asm.Writer, label string, vecs int, masked bool) {
	for v := range vecs {
		zero(w, k.acc(v))
	}
	w.Op("TESTQ", regAddend, regAddend)
	w.Op("JEQ", label+"sum")
	for v := range vecs {
		w.Load(at(v*k.Size(), regAddend), k.acc(v), masked)
	}
	w.OpNumber("ADDQ", vecs*k.Size(), regAddend)
	w.Label(label + "sum")
}
