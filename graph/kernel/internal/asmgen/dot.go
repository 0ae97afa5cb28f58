package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// dot is a micro-kernel for the product C = A B^T + beta C, beta 0 or 1, in which both operands
// store the long axis k as rows: rows x cols dot products of rows. Each dot product has a vector of
// partial sums in a register; at the end, four vectors at a time are reduced.
type dot struct {
	isa
	rows, cols int
}

// dotCols is the largest number of columns, which one 128-bit store writes.
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

func (d dot) name() string { return fmt.Sprintf("%sdot%dx%d", d.isa.Name, d.rows, d.cols) }

// choice returns the number of the kernel in the switch that declare writes.
func (d dot) choice() int { return d.rows<<3 | d.cols }

// The general registers of dot that differ from those of the product.
const (
	regA1   = "SI"  // A at the step
	regRows = "R12" // bytes between rows of A
	regA3   = "R8"  // three times that
	regB3   = "R9"  // three times the bytes between rows of B
)

func (d dot) acc(r, c int) string { return d.Vector(r*d.cols + c) }
func (d dot) a(r int) string      { return d.Vector(d.rows*d.cols + r) }
func (d dot) b() string           { return d.Vector((d.cols + 1) * d.rows) }

// spare returns the registers that the final sums may use.
func (d dot) spare(i int) string { return d.Vector((d.cols+1)*d.rows + 1 + i) }

func (d dot) signature() string { return d.name() + "(t *tile[float32])" }

func (d dot) emit(w *asm.Writer) {
	w.Function(d.signature(), 0, 8)
	d.emitArguments(w)
	for r := range d.rows {
		for c := range d.cols {
			zero(w, d.acc(r, c))
		}
	}
	sizes := asm.Names{"lanes": d.Lanes, "size": d.Size()}
	w.List(`
		SUBQ $lanes, CX
		JLT rest
		step:
	`, sizes)
	d.emitStep(w, false)
	w.List(`
		ADDQ $size, SI // A
		ADDQ $size, DI // B
		SUBQ $lanes, CX
		JGE step
		rest:
		ADDQ $lanes, CX
		JZ sum
	`, sizes)
	setMask(w, regK, "R10") // of the elements that are left
	d.emitStep(w, true)
	w.Label("sum")
	for r := range d.rows {
		d.emitSums(w, r)
	}
	w.Return()
}

func (d dot) emitArguments(w *asm.Writer) {
	w.Op("MOVQ", "t+0(FP)", regTile)
	fields(w, "tile", "a", regA1, "b", regB, "c", regC, "k", regK)
	strides(w, "tile", "as", regRows, "bs", regBS, "cs", regCS)
	triple(w, regRows, regA3)
	triple(w, regBS, regB3)
}

// emitStep adds the products of one vector of each row.
func (d dot) emitStep(w *asm.Writer, masked bool) {
	for r := range d.rows {
		w.Load(rowAddress(regA1, regRows, regA3, r), d.a(r), masked)
	}
	for c := range d.cols {
		w.Load(rowAddress(regB, regBS, regB3, c), d.b(), masked)
		for r := range d.rows {
			w.Op("VFMADD231PS", d.b(), d.a(r), d.acc(r, c))
		}
	}
}

// rowAddress returns the address of row i, which is below four.
func rowAddress(base, stride, triple string, i int) string {
	switch i {
	case 0:
		return fmt.Sprintf("(%s)", base)
	case 3:
		return fmt.Sprintf("(%s)(%s*1)", base, triple)
	}
	return fmt.Sprintf("(%s)(%s*%d)", base, stride, i)
}

// emitSums writes row r of C. Within each 128-bit quarter it adds pairs of lanes of two registers,
// then pairs of the results of four registers; then it adds the quarters.
func (d dot) emitSums(w *asm.Writer, r int) {
	w.List(`
		VUNPCKLPS s1, s0, low
		VUNPCKHPS s1, s0, high
		VADDPS high, low, low
		VUNPCKLPS s3, s2, other
		VUNPCKHPS s3, s2, high
		VADDPS high, other, other
		VUNPCKLPD other, low, high
		VUNPCKHPD other, low, other
		VADDPS other, high, s0
	`, asm.Names{
		"s":   func(c int) string { return d.acc(r, min(c, d.cols-1)) }, // the sums of missing columns are not stored
		"low": d.spare(0), "high": d.spare(1), "other": d.spare(2),
	})
	total := d.acc(r, 0)
	w.Reduce("VADDPS", total, d.lower(r)) // the accumulators are among the first 16 registers; those above are free by now
	w.List(dotRow[d.cols], asm.Names{"x": asm.Quarter(total), "old": "X" + d.lower(r), "store": fmt.Sprintf("store%d", r)})
}

// lower returns the number of a register below 16 that is free when row r is summed: the row's own
// second accumulator, or a register that held A.
func (d dot) lower(r int) string {
	if d.cols > 1 {
		return d.acc(r, 1)[1:]
	}
	return d.a(0)[1:]
}

// dotRow adds C unless beta is zero, and stores a row of as many columns.
var dotRow = [dotCols + 1]string{
	1: `
		CMPL tile_beta(AX), $0
		JEQ store
		VMOVSS (DX), old
		VADDPS old, x, x
		store:
		VMOVSS x, (DX)
		ADDQ BX, DX
	`,
	2: `
		CMPL tile_beta(AX), $0
		JEQ store
		VMOVSD (DX), old
		VADDPS old, x, x
		store:
		VMOVSD x, (DX)
		ADDQ BX, DX
	`,
	3: `
		CMPL tile_beta(AX), $0
		JEQ store
		VMOVSD (DX), old
		VINSERTPS $0x20, 8(DX), old, old
		VADDPS old, x, x
		store:
		VMOVSD x, (DX)
		VEXTRACTPS $2, x, 8(DX)
		ADDQ BX, DX
	`,
	4: `
		CMPL tile_beta(AX), $0
		JEQ store
		VMOVUPS (DX), old
		VADDPS old, x, x
		store:
		VMOVUPS x, (DX)
		ADDQ BX, DX
	`,
}
