package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// weights is a micro-kernel for a panel of 64 columns of a matrix whose entries are stored in 16 or
// 8 bits (kernel.Weights), row after row. It multiplies the panel by a vector,
//
//	y[j] = sum_k a[k] x[k][j]
//
// or, with unpack, writes the entries as float32. An entry of 8 bits is multiplied by its group's
// scale first. The panels follow one another, so that what it prefetches at the end of one begins
// the next.
type weights struct {
	isa
	bits   int
	unpack bool
}

const (
	weightsColumns = 64   // of a panel
	weightsGroup   = 64   // rows that share a column's scale
	weightsAhead   = 4096 // bytes from an entry to what is prefetched with it
	fewRows        = 4    // rows of a tile that needs B only once
)

// weightsFields are the 8-byte fields of kernel.weightsTile, in order. A test of package kernel
// compares them with the struct.
var weightsFields = []string{"y", "a", "x", "scales", "k", "panel"}

// weights lists the kernels of an instruction set.
func (s isa) weights() []family {
	return []family{newFamily([]weights{{s, 16, false}, {s, 16, true}, {s, 8, false}, {s, 8, true}}, "", nil)}
}

func (k weights) signature() string {
	verb := "Multiply"
	if k.unpack {
		verb = "Unpack"
	}
	return fmt.Sprintf("%s%s%d(t *weightsTile)", k.isa.Name, verb, k.bits)
}

// The general registers of weights that differ from those of the product.
const regScales = "R9"

func (k weights) vecs() int          { return weightsColumns / k.Lanes }
func (k weights) sum(v int) string   { return k.Vector(v) }
func (k weights) a() string          { return k.Vector(k.vecs()) }
func (k weights) entry(v int) string { return k.Vector(k.vecs() + 1 + v%4) }
func (k weights) scale(v int) string { return k.Vector(k.vecs() + 5 + v) } // with AVX-512

func (k weights) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 8)
	w.Op("MOVQ", "t+0(FP)", regTile)
	fields(w, "weights", "y", regC, "a", regA1, "x", regX, "scales", regScales, "k", regMore)
	strides(w, "weights", "panel", regCS)
	triple(w, regCS, regA3)
	for v := range k.vecs() {
		zero(w, k.sum(v))
	}
	if k.bits == 8 {
		k.emitGroup(w)
	}
	w.Label("row")
	k.emitRow(w)
	if k.bits == 8 {
		w.List(`
			DECQ R10 // rows left of the group
			JNZ row
			ADDQ $bytes, R9 // the next group's scales
			TESTQ CX, CX // rows left
			JNZ group
		`, asm.Names{"bytes": 4 * weightsColumns})
	} else {
		w.List(`
			DECQ CX
			JNZ row
		`, nil)
	}
	if !k.unpack {
		for v := range k.vecs() {
			w.Op("VMOVUPS", k.sum(v), at(v*k.Size(), regC))
		}
	}
	w.Return()
}

// emitGroup begins a group of rows: it finds how many rows are left, and loads their scales.
func (k weights) emitGroup(w *asm.Writer) {
	w.List(`
		group:
		MOVQ $rows, R10
		CMPQ CX, R10
		CMOVQLT CX, R10
		SUBQ R10, CX
	`, asm.Names{"rows": weightsGroup})
	if k.Masks {
		for v := range k.vecs() {
			w.Op("VMOVUPS", at(v*k.Size(), regScales), k.scale(v))
		}
	}
}

// emitRow handles a row of the panel and advances to the next.
func (k weights) emitRow(w *asm.Writer) {
	if !k.unpack {
		w.Op("VBROADCASTSS", at(0, regA1), k.a())
		w.OpNumber("ADDQ", 4, regA1)
		for line := range weightsColumns * k.bits / 8 / 64 {
			w.Op("PREFETCHT0", at(weightsAhead+64*line, regX))
		}
	}
	for v := range k.vecs() {
		k.emitEntry(w, v)
		if k.unpack {
			w.Op("VMOVUPS", k.entry(v), fmt.Sprintf("%d%s", v%2*k.Size(), rowAddress(regC, regCS, regA3, v/2)))
		} else {
			w.Op("VFMADD231PS", k.entry(v), k.a(), k.sum(v))
		}
	}
	if k.unpack {
		w.OpNumber("ADDQ", 2*k.Size(), regC)
	}
	w.OpNumber("ADDQ", weightsColumns*k.bits/8, regX)
}

// emitEntry loads a vector of entries as float32.
func (k weights) emitEntry(w *asm.Writer, v int) {
	names := asm.Names{"from": at(v*k.Lanes*k.bits/8, regX), "entry": k.entry(v), "scale": at(v*k.Size(), regScales)}
	if k.Masks {
		names["scale"] = k.scale(v)
	}
	if k.bits == 16 {
		w.List(`
			VPMOVZXWD from, entry
			VPSLLD $16, entry, entry
		`, names)
		return
	}
	w.List(`
		VPMOVSXBD from, entry
		VCVTDQ2PS entry, entry
		VMULPS scale, entry, entry
	`, names)
}
