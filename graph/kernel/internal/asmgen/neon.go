package main

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// General registers of the routines for NEON: R0 points to the arguments, R8 to R15 to rows of A or
// X; R19 is scratch.
const neonScratch = "R19"

// neonRow returns the pointer to row r.
func neonRow(r int) string { return fmt.Sprintf("R%d", 8+r) }

// neonFields loads fields of a tile into registers, given as pairs of a name and a register;
// neonStrides loads fields that count elements, as bytes.
func neonFields(w *asm.Writer, tile string, pairs ...string) {
	for p := range slices.Chunk(pairs, 2) {
		w.Op("MOVD", tile+"_"+p[0]+"(R0)", p[1])
	}
}

func neonStrides(w *asm.Writer, tile string, pairs ...string) {
	for p := range slices.Chunk(pairs, 2) {
		neonFields(w, tile, p...)
		w.Op("LSL", "$2", p[1])
	}
}

// neonBegin begins a routine with one argument.
func neonBegin(w *asm.Writer, signature string) {
	w.Function(signature, 0, 8)
	w.Op("MOVD", "t+0(FP)", "R0")
}

// neonClear clears the first n vector registers.
func neonClear(w *asm.Writer, n int) {
	for i := range n {
		w.Neon("VEOR", asm.Bytes, w.Vector(i), w.Vector(i), w.Vector(i))
	}
}

// neonRows points registers to n rows, the first of which has its pointer, stride bytes apart.
func neonRows(w *asm.Writer, n int, stride string) {
	for r := 1; r < n; r++ {
		w.Op("ADD", stride, neonRow(r-1), neonRow(r))
	}
}

// neonLoads reads vectors that follow one another, two by an instruction.
func neonLoads(w *asm.Writer, pointer string, offset int, registers ...string) {
	for pair := range slices.Chunk(registers, 2) {
		if len(pair) == 2 {
			w.Op("FLDPQ", at(offset, pointer), fmt.Sprintf("(%s, %s)", asm.Scalar(pair[0]), asm.Scalar(pair[1])))
		} else {
			w.Op("FMOVQ", at(offset, pointer), asm.Scalar(pair[0]))
		}
		offset += 32
	}
}

// neonWalk writes a loop over the number of elements in a register: panels of the given number of
// vectors, then single vectors, then single elements. work writes the loop's body for a number of
// vectors, or for a single element if that is 0.
func neonWalk(w *asm.Writer, left string, vecs int, work func(label string, vecs int)) {
	for i, step := range []int{4 * vecs, 4, 1} {
		label := fmt.Sprintf("walk%d", i)
		w.Op("SUBS", fmt.Sprintf("$%d", step), left)
		w.Op("BLT", label+"end")
		w.Label(label)
		work(label, step/4)
		w.Op("SUBS", fmt.Sprintf("$%d", step), left)
		w.Op("BGE", label)
		w.Label(label + "end")
		w.Op("ADD", fmt.Sprintf("$%d", step), left)
	}
	w.Return()
}

// neonPart names the load, store and size of a part of a panel: vectors, or with 0 an element.
func neonPart(vecs int) (move string, registers, size int) {
	if vecs == 0 {
		return "FMOVS", 1, 4
	}
	return "FMOVQ", vecs, 16
}

// neonChoice is the number of a tile's routine, see neonTile.choice.
const neonChoice = "rows<<4 | (vecs-1)<<2 | bit(transposed)<<1 | bit(partial) {"

// neonFamilies lists the routines of NEON for float32.
func neonFamilies() []family {
	return []family{
		newFamily(neonTiles(neonMaxRows, ""), "%Tile runs the micro-kernel for tiles of rows x vecs vectors.\n"+
			"// partial says that the last vector of a row is not full.\n"+
			"func %Tile(rows, vecs int, transposed, partial bool, t *tile[float32]) {\nswitch "+neonChoice, neonTile.choice),
		newFamily([]neonTranspose{{}}, "", nil),
		newFamily(neonDots(), "%Dots runs the micro-kernel for rows x cols sums of products.\n"+
			"func %Dots(rows, cols int, t *tile[float32]) {\nswitch rows<<3 | cols {", neonDot.choice),
		newFamily(neonCombines(), "%Combine runs the micro-kernel for combinations of as many rows.\n"+
			"func %Combine(rows int, t *combineTile[float32]) {\nswitch rows {", func(k neonCombine) int { return k.rows }),
		newFamily([]neonAxpy{{1}, {8}}, "", nil),
		newFamily([]neonGemv{{1}, {2}, {3}, {4}}, "", nil),
		newFamily([]neonSumProducts{{}}, "", nil),
	}
}
