package main

import "fmt"

// isa is an instruction set that the functions are written for.
type isa struct {
	name      string
	reg, half string // prefixes of its vector registers and of their lower halves
	lanes     int    // float32 values in a vector
	registers int
	masks     bool // has mask registers (AVX-512F; AVX-512VL and DQ are not needed)
}

var isas = []isa{
	{name: "avx512", reg: "Z", half: "Y", lanes: 16, registers: 32, masks: true},
	{name: "avx2", reg: "Y", half: "X", lanes: 8, registers: 16},
}

func (s isa) vector(i int) string { return fmt.Sprintf("%s%d", s.reg, i) }

// halfOf is the lower half of a vector register.
func (s isa) halfOf(register string) string { return s.half + register[1:] }
