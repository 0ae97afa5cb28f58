package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// axpy is a micro-kernel that adds multiples of rows to a long row, one after the other,
//
//	y += a_0 x_0, y += a_1 x_1, ...
//
// (BLIS calls it axpyf). It reads the rows in the order of memory, and asks early for as many
// that follow: its time is theirs.
type axpy struct {
	isa
	rows int
}

// axpyFields are the 8-byte fields of kernel.axpyTile[float32], in order. A test of package
// kernel compares them with the struct.
var axpyFields = []string{"y", "a", "as", "x", "xs", "n"}

// axpys lists the kernels of an instruction set: of AVX2 alone, as longer vectors wait for
// memory as long.
func (s isa) axpys() []axpy {
	if s.Masks {
		return nil
	}
	return []axpy{{s, 1}, {s, 4}}
}

func (k axpy) name() string { return fmt.Sprintf("%sAxpy%d", k.isa.Name, k.rows) }

// General registers of axpy, where they differ from the product's.
const (
	regX     = "DI"  // the rows at the step
	regXS    = "R13" // bytes between rows
	regX3    = "R9"  // three times that
	regAhead = "R10" // the rows that follow, at the step
	regMore  = "CX"  // elements left
)

func (k axpy) a(i int) string { return k.Vector(i) }
func (k axpy) y(v int) string { return k.Vector(k.rows + v) }

func (k axpy) emit(w *asm.Writer) {
	const vecs = 2 // vectors of y a step, a cache line of each row
	w.Function(k.name()+"(t *axpyTile[float32])", 0, 8)
	k.emitArguments(w)
	step := vecs * k.Lanes
	w.Op("SUBQ", fmt.Sprintf("$%d", step), regMore)
	w.Op("JLT", "few")
	w.Label("step")
	for i := range k.rows {
		w.Op("PREFETCHT0", rowAddress(regAhead, regXS, regX3, i))
	}
	k.emitStep(w, vecs, false)
	w.Op("ADDQ", fmt.Sprintf("$%d", 4*step), regAhead)
	w.Op("SUBQ", fmt.Sprintf("$%d", step), regMore)
	w.Op("JGE", "step")
	w.Label("few")
	w.Op("ADDQ", fmt.Sprintf("$%d", step), regMore)
	w.Op("JLE", "done")
	w.Label("rest")
	setMask(w, regMore, "")
	k.emitStep(w, 1, true)
	w.Op("SUBQ", fmt.Sprintf("$%d", k.Lanes), regMore)
	w.Op("JGT", "rest")
	w.Label("done")
	w.Return()
}

func (k axpy) emitArguments(w *asm.Writer) {
	w.Op("MOVQ", "t+0(FP)", regTile)
	w.Op("MOVQ", "axpy_y(AX)", regC)
	w.Op("MOVQ", "axpy_a(AX)", regA1)
	w.Op("MOVQ", "axpy_as(AX)", regRows)
	w.Op("SHLQ", "$2", regRows)
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*2)", regRows, regRows), regA3)
	for i := range k.rows {
		w.Op("VBROADCASTSS", rowAddress(regA1, regRows, regA3, i), k.a(i))
	}
	w.Op("MOVQ", "axpy_x(AX)", regX)
	w.Op("MOVQ", "axpy_xs(AX)", regXS)
	w.Op("SHLQ", "$2", regXS)
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*2)", regXS, regXS), regX3)
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*%d)", regX, regXS, k.rows), regAhead)
	w.Op("MOVQ", "axpy_n(AX)", regMore)
}

// emitStep adds to vecs vectors of y and goes on to the next.
func (k axpy) emitStep(w *asm.Writer, vecs int, masked bool) {
	for v := range vecs {
		w.Load(fmt.Sprintf("%d(%s)", v*k.Size(), regC), k.y(v), masked)
	}
	for i := range k.rows {
		for v := range vecs {
			from := rowAddress(regX, regXS, regX3, i)
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
		w.Store(k.y(v), fmt.Sprintf("%d(%s)", v*k.Size(), regC), masked)
	}
	w.Op("ADDQ", fmt.Sprintf("$%d", vecs*k.Size()), regC)
	w.Op("ADDQ", fmt.Sprintf("$%d", vecs*k.Size()), regX)
}
