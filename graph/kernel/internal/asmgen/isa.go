package main

import "github.com/residua-go/residua/graph/kernel/internal/asm"

// isa is an instruction set with the sizes of its micro-kernels.
type isa struct {
	asm.ISA
	maxRows [3]int // rows of the highest tile, by vectors in a row
	dotRows int    // rows of the highest tile of dot
}

var isas = []isa{
	{ISA: asm.AVX512, maxRows: [3]int{1: 14, 2: 14}, dotRows: 4},
	{ISA: asm.AVX2, maxRows: [3]int{1: 12, 2: 6}, dotRows: 2},
}

// zero clears a register.
func zero(w *asm.Writer, register string) {
	if w.Masks {
		w.Op("VPXORD", register, register, register)
	} else {
		w.Op("VXORPS", register, register, register)
	}
}

// setMask makes the mask of the first count lanes, or of all if count is larger with AVX2.
func setMask(w *asm.Writer, count, scratch string) {
	if w.Masks {
		w.MaskBits(count, scratch)
		return
	}
	mask := w.Mask()
	w.Op("VMOVD", count, asm.Quarter(mask))
	w.Op("VPBROADCASTD", asm.Quarter(mask), mask)
	w.Op("VPCMPGTD", "lanes<>(SB)", mask, mask)
}
