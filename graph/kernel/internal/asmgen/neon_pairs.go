package main

import (
	"strconv"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// neonPairs says how a tile multiplies pairs of bfloat16, and begins its name; "" means that its
// elements are float32. For the definition of sums see pairs.go. FPCR.FZ flushes denormals, but a
// result counts as one before rounding: where a product has raised FPSR's flag of underflow, the
// routine stores nothing, and leaves in the tile how many of its tiles are left.
type neonPairs string

const (
	neonSplit neonPairs = "Split" // each pair becomes two float32
	neonWide  neonPairs = "Wide"  // by BFMLALT and BFMLALB, which read A from the first 16 registers
)

// Rows of the largest tiles of pairs.
var (
	neonSplitRows = [5]int{1: 8, 2: 6, 3: 5, 4: 4}
	neonWideRows  = neonMaxRows
)

// aOdd returns the register of the odd elements of a vector of A, which keeps the even ones.
func (k neonTile) aOdd(a string) string {
	return asm.NEON.Vector(int(asm.Number(a)) + k.as()/2)
}

func (k neonTile) bOdd(v int) string { return k.after(2 + v%2) }
func (k neonTile) upper() string     { return k.after(4) } // the mask of the upper halves

// emitStates keeps the usual state of the floating-point unit in a register that tiles one under
// another leave free, and prepares the mask.
func (k neonTile) emitStates(w *asm.Writer) {
	w.Op("MRS", "FPCR", "R23")
	if k.pairs == neonSplit {
		w.Op("MOVD", "$0xffff0000", neonScratch)
		w.Op("VDUP", neonScratch, k.upper()+".S4")
	}
}

// emitFlushing begins the sums.
func (k neonTile) emitFlushing(w *asm.Writer) {
	w.List(`
		ORR $0x1000000, R23, R19 // FZ
		MSR R19, FPCR
		MSR ZR, FPSR
	`, nil)
}

// emitUnderflow ends the sums. If a result has been denormal, it also ends the routine.
func (k neonTile) emitUnderflow(w *asm.Writer) {
	w.List(`
		MSR R23, FPCR
		MRS FPSR, R19
		TBNZ $3, R19, end
	`, nil)
}

func (k neonTile) emitSplitA(w *asm.Writer) {
	for i := range k.as() / 2 {
		k.emitSplit(w, k.a(i), k.aOdd(k.a(i)))
	}
}

func (k neonTile) emitSplitB(w *asm.Writer, v int) {
	for u := v; u < min(v+2, k.vecs); u++ {
		k.emitSplit(w, k.b(u), k.bOdd(u))
	}
}

// emitSplit leaves the even elements in the register.
func (k neonTile) emitSplit(w *asm.Writer, pairs, odd string) {
	w.Neon("VAND", asm.Bytes, k.upper(), pairs, odd)
	w.Neon("VSHL", asm.Singles, "$"+strconv.Itoa(16), pairs, pairs)
}
