package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// axpy is a micro-kernel that adds multiples of rows to a long row, one after the other,
//
//	y += a_0 x_0, y += a_1 x_1, ...
//
// (BLIS calls it axpyf). It reads the rows in the order of memory, each as a separate stream, and
// prefetches as many rows some distance after them, so that it takes as long as reading them.
type axpy struct {
	isa
	rows int
}

// axpyFields are the 8-byte fields of kernel.axpyTile[float32], in order. A test of package
// kernel compares them with the struct.
var axpyFields = []string{"y", "a", "as", "x", "xs", "n", "ahead"}

// axpys lists the kernels of an instruction set. They exist only for AVX2, since longer vectors
// would wait for memory just as long.
func (s isa) axpys() []axpy {
	if s.Masks {
		return nil
	}
	return []axpy{{s, 1}, {s, 8}}
}

func (k axpy) name() string { return fmt.Sprintf("%sAxpy%d", k.isa.Name, k.rows) }

// The general registers of axpy that differ from those of the product.
const (
	regX     = "DI"  // the rows at the step
	regXFour = "R15" // the fifth row at the step
	regXS    = "R13" // bytes between rows
	regX3    = "R9"  // three times that
	regNext  = "R10" // the row to prefetch at the step
	regNext4 = "R11" // the fifth of these rows
	regMore  = "CX"  // elements left
)

// xRow returns the address of row r, of the eight that two pointers reach.
func xRow(r int) string { return rowOfEight(regX, regXFour, r) }

func rowOfEight(first, fifth string, r int) string {
	if r >= 4 {
		return rowAddress(fifth, regXS, regX3, r-4)
	}
	return rowAddress(first, regXS, regX3, r)
}

func (k axpy) a(i int) string { return k.Vector(i) }
func (k axpy) y(v int) string { return k.Vector(k.rows + v) }

func (k axpy) signature() string { return k.name() + "(t *axpyTile[float32])" }

func (k axpy) emit(w *asm.Writer) {
	const vecs = 2 // vectors of y a step, a cache line of each row
	w.Function(k.signature(), 0, 8)
	k.emitArguments(w)
	step := vecs * k.Lanes
	walk(w, "step", regMore, step, func() {
		k.emitStep(w, vecs, false)
	}, func() {
		setMask(w, regMore, "")
		k.emitStep(w, 1, true)
	})
}

func (k axpy) emitArguments(w *asm.Writer) {
	w.Op("MOVQ", "t+0(FP)", regTile)
	fields(w, "axpy", "y", regC, "a", regA1)
	strides(w, "axpy", "as", regRows)
	triple(w, regRows, regA3)
	for i := range k.rows {
		if i == 4 {
			w.Op("LEAQ", fmt.Sprintf("(%s)(%s*4)", regA1, regRows), regA1)
		}
		w.Op("VBROADCASTSS", rowAddress(regA1, regRows, regA3, i%4), k.a(i))
	}
	fields(w, "axpy", "x", regX)
	strides(w, "axpy", "xs", regXS)
	triple(w, regXS, regX3)
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*4)", regX, regXS), regXFour)
	fields(w, "axpy", "n", regMore)
	strides(w, "axpy", "ahead", regNext)
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*4)", regNext, regXS), regNext4)
	w.Op("ADDQ", regX, regNext)
	w.Op("ADDQ", regX, regNext4)
}

// emitStep adds to vecs vectors of y and goes on to the next.
func (k axpy) emitStep(w *asm.Writer, vecs int, masked bool) {
	for v := range vecs {
		w.Load(at(v*k.Size(), regC), k.y(v), masked)
	}
	for i := range k.rows {
		w.Op("PREFETCHT1", rowOfEight(regNext, regNext4, i))
		for v := range vecs {
			from := xRow(i)
			if v > 0 {
				from = fmt.Sprintf("%d%s", v*k.Size(), from)
			}
			if masked {
				w.Load(from, k.y(vecs), true)
				from = k.y(vecs)
			}
			w.Op("VFMADD231PS", from, k.a(i), k.y(v))
		}
	}
	for v := range vecs {
		w.Store(k.y(v), at(v*k.Size(), regC), masked)
	}
	w.List(`
		ADDQ $bytes, DX // y, and both pointers to rows
		ADDQ $bytes, DI
		ADDQ $bytes, R15
		ADDQ $bytes, R10 // both pointers to what to prefetch
		ADDQ $bytes, R11
	`, asm.Names{"bytes": vecs * k.Size()})
}
