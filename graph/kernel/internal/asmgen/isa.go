package main

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// isa is an instruction set with the sizes of its micro-kernels.
type isa struct {
	asm.ISA
	maxRows  [3]int // rows of the largest tile, by the number of vectors in a row
	dotRows  int    // rows of the largest tile of dot
	pairRows [3]int // rows of the largest tile for pairs of bfloat16

	splitRows [3]int // the same for the form that splits pairs, if there are two
}

var isas = []isa{
	{ISA: asm.AVX512, maxRows: [3]int{1: 14, 2: 14}, dotRows: 4, pairRows: [3]int{1: 14, 2: 14}, splitRows: [3]int{1: 14, 2: 12}},
	{ISA: asm.AVX2, maxRows: [3]int{1: 12, 2: 6}, dotRows: 2, pairRows: [3]int{1: 8, 2: 4}},
}

// zero clears a register.
func zero(w *asm.Writer, register string) {
	if w.Masks {
		w.Op("VPXORD", register, register, register)
	} else {
		w.Op("VXORPS", register, register, register)
	}
}

// setMask sets the mask to the first count lanes; with AVX2, to all lanes if count is larger.
func setMask(w *asm.Writer, count, scratch string) {
	if w.Masks {
		w.MaskBits(count, scratch)
		return
	}
	w.List(`
		VMOVD count, low
		VPBROADCASTD low, mask
		VPCMPGTD lanes<>(SB), mask, mask
	`, asm.Names{"count": count, "mask": w.Mask(), "low": asm.Quarter(w.Mask())})
}

// at returns the operand some bytes after the address in a register.
func at(bytes int, register string) string { return fmt.Sprintf("%d(%s)", bytes, register) }

// triple sets a register to three times another.
func triple(w *asm.Writer, register, to string) {
	w.Op("LEAQ", fmt.Sprintf("(%s)(%s*2)", register, register), to)
}

// fields loads fields of a tile, given as pairs of a name and a register; strides loads fields that
// count elements, as bytes.
func fields(w *asm.Writer, tile string, pairs ...string) {
	for p := range slices.Chunk(pairs, 2) {
		w.Op("MOVQ", tile+"_"+p[0]+"(AX)", p[1])
	}
}

func strides(w *asm.Writer, tile string, pairs ...string) {
	for p := range slices.Chunk(pairs, 2) {
		fields(w, tile, p...)
		w.OpNumber("SHLQ", 2, p[1])
	}
}

// walk ends a function with a loop over the number of elements in a register: panels of the given
// size, then single vectors, the last of which may be partial.
func walk(w *asm.Writer, label, left string, elements int, panel, rest func()) {
	names := asm.Names{"elements": elements, "left": left, "panel": label, "lanes": w.Lanes}
	w.List(`
		SUBQ $elements, left
		JLT few
		panel:
	`, names)
	panel()
	w.List(`
		SUBQ $elements, left
		JGE panel
		few:
		ADDQ $elements, left
		JLE done
		rest:
	`, names)
	rest()
	w.List(`
		SUBQ $lanes, left
		JGT rest
		done:
	`, names)
	w.Return()
}
