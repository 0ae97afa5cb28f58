package main

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// neonWeights is weights for NEON.
type neonWeights struct {
	bits   int
	unpack bool
}

func (k neonWeights) signature() string {
	return strings.Replace(weights{isa: isa{ISA: asm.NEON}, bits: k.bits, unpack: k.unpack}.signature(), "\n", "", 1)
}

// emit keeps the sums of the columns in the first 16 vector registers, then an element of a.
func (k neonWeights) emit(w *asm.Writer) {
	neonBegin(w, k.signature())
	neonFields(w, "weights", "y", "R8", "a", "R2", "x", "R4", "scales", "R5", "k", "R3")
	if k.unpack {
		neonStrides(w, "weights", "panel", "R6")
		neonRows(w, 4, "R6")
	} else {
		neonClear(w, weightsColumns/4)
	}
	if k.bits == 8 {
		w.List(`
			group:
			MOVD $rows, R7 // of the group
			CMP R7, R3
			CSEL LT, R3, R7, R7
			SUB R7, R3
		`, asm.Names{"rows": weightsGroup})
	}
	w.Label("row")
	if !k.unpack {
		w.Op("FMOVS.P", "4(R2)", "F16")
	}
	perLoad := 16 * 8 / k.bits
	for column := 0; column < weightsColumns; column += perLoad {
		w.Op("FMOVQ.P", "16(R4)", "F17")
		k.emitEntries(w, column, perLoad)
	}
	if k.bits == 8 {
		w.List(`
			SUBS $1, R7
			BNE row
			ADD $bytes, R5 // the next group's scales
			CBNZ R3, group
		`, asm.Names{"bytes": 4 * weightsColumns})
	} else {
		w.List(`
			SUBS $1, R3
			BNE row
		`, nil)
	}
	for v := 0; v < weightsColumns/4 && !k.unpack; v++ {
		w.Op("FMOVQ", fmt.Sprintf("F%d", v), at(16*v, "R8"))
	}
	w.Return()
}

// emitEntries handles the entries in register 17, which begin with a column.
func (k neonWeights) emitEntries(w *asm.Writer, column, n int) {
	v := w.Vector
	if k.bits == 16 {
		w.Neon("SHLL", "", v(17), v(18))
		w.Neon("SHLL2", "", v(17), v(19))
	} else {
		w.Neon("SXTLB", "", v(17), v(22))
		w.Neon("SXTLB2", "", v(17), v(23))
		for i := range 4 {
			w.Neon([]string{"SXTL", "SXTL2"}[i%2], "", v(22+i/2), v(18+i))
			w.Neon("SCVTF", "", v(18+i), v(18+i))
			w.Op("FMOVQ", at(4*column+16*i, "R5"), "F24")
			w.Neon("FMUL", asm.Singles, v(24), v(18+i), v(18+i))
		}
	}
	for i := range n / 4 {
		if k.unpack {
			w.Op("FMOVQ.P", fmt.Sprintf("F%d", 18+i), at(16, neonRow(column/16)))
		} else {
			w.NeonLane(v(16), 0, v(18+i), v(column/4+i))
		}
	}
}

// neonConversion is conversion for NEON.
type neonConversion struct {
	header string
	slices []conversionSlice
	start  string
	step   func(w *asm.Writer)
}

// neonBFloat16 lists the routines for bfloat16.
func neonBFloat16() []family {
	chooser := "%PairTile runs the micro-kernel of pairs for tiles of rows x vecs vectors, see tile.tiles.\n" +
		"func %PairTile(rows, vecs int, transposed, partial bool, t *tile[float32]) {\nswitch " + neonChoice
	return []family{
		newFamily(neonTiles(neonSplitRows, neonSplit), strings.ReplaceAll(chooser, "Pair", "Split"), neonTile.choice),
		newFamily(neonTiles(neonWideRows, neonWide), strings.ReplaceAll(chooser, "Pair", "Wide"), neonTile.choice),
		newFamily(neonConversions(), "", nil),
	}
}

func neonConversions() []neonConversion {
	return []neonConversion{
		{"Round(dst *BFloat16, src *float32, n int)", []conversionSlice{{"dst", "R1", 2}, {"src", "R2", 4}}, `
			MOVD $0x7fff, R4
			VDUP R4, V28.S4
			MOVD $1, R4
			VDUP R4, V29.S4
			MOVD $0x400000, R4
			VDUP R4, V30.S4
		`, neonRound},
		{"Widen(dst *float32, src *BFloat16, n int)", []conversionSlice{{"dst", "R1", 4}, {"src", "R2", 2}}, "", func(w *asm.Writer) {
			w.Op("FLDPQ.P", "32(R2)", "(F0, F1)")
			for i := range 2 {
				w.Neon("SHLL", "", w.Vector(i), w.Vector(2+2*i))
				w.Neon("SHLL2", "", w.Vector(i), w.Vector(3+2*i))
			}
			w.List(`
				FSTPQ.P (F2, F3), 32(R1)
				FSTPQ.P (F4, F5), 32(R1)
			`, nil)
		}},
		{"Interleave(dst *float32, src, odd *BFloat16, n int)", []conversionSlice{{"dst", "R1", 4}, {"src", "R2", 2}, {"odd", "R5", 2}}, "", func(w *asm.Writer) {
			w.List(`
				FLDPQ.P 32(R2), (F0, F1)
				FLDPQ.P 32(R5), (F2, F3)
				VZIP1 V2.H8, V0.H8, V4.H8
				VZIP2 V2.H8, V0.H8, V5.H8
				VZIP1 V3.H8, V1.H8, V6.H8
				VZIP2 V3.H8, V1.H8, V7.H8
				FSTPQ.P (F4, F5), 32(R1)
				FSTPQ.P (F6, F7), 32(R1)
			`, nil)
		}},
	}
}

// neonRound rounds 16 elements as rounding does.
func neonRound(w *asm.Writer) {
	w.List(`
		FLDPQ.P 32(R2), (F0, F1)
		FLDPQ.P 32(R2), (F2, F3)
	`, nil)
	for i := range 4 {
		x, rounded, number := w.Vector(i), w.Vector(4+i), w.Vector(8+i)
		w.Neon("VUSHR", asm.Singles, "$16", x, rounded)
		w.Neon("VAND", asm.Bytes, "V29", rounded, rounded)
		w.Neon("VADD", asm.Singles, "V28", rounded, rounded)
		w.Neon("VADD", asm.Singles, x, rounded, rounded)
		w.Neon("FCMEQ", asm.Singles, x, x, number)
		w.Neon("VORR", asm.Bytes, "V30", x, x)
		w.Neon("VBIF", asm.Bytes, number, x, rounded) // a NaN, made quiet
	}
	w.List(`
		VUZP2 V5.H8, V4.H8, V4.H8 // the upper halves
		VUZP2 V7.H8, V6.H8, V5.H8
		FSTPQ.P (F4, F5), 32(R1)
	`, nil)
}

func (k neonConversion) signature() string { return "neon" + k.header }

func (k neonConversion) emit(w *asm.Writer) {
	w.Function(k.signature(), 0, 8*len(k.slices)+8)
	for i, s := range k.slices {
		w.Op("MOVD", fmt.Sprintf("%s+%d(FP)", s.name, 8*i), s.register)
	}
	w.Op("MOVD", fmt.Sprintf("n+%d(FP)", 8*len(k.slices)), "R3")
	w.List(k.start, nil)
	w.Label("step")
	k.step(w)
	w.OpNumber("SUBS", bfloat16Step, "R3")
	w.Op("BNE", "step")
	w.Return()
}
