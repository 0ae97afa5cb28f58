package main

import "fmt"

// isa is an instruction set that micro-kernels are written for.
type isa struct {
	name      string
	reg       string // prefix of its vector registers
	lanes     int    // float32 values in a vector
	registers int    // vector registers
	maxRows   [3]int // rows of the highest tile, by vectors in a row
	dotRows   int    // rows of the highest tile of dot
	masks     bool   // has mask registers: one kernel serves full and partial vectors
}

var isas = []isa{
	{name: "avx512", reg: "Z", lanes: 16, registers: 32, maxRows: [3]int{1: 14, 2: 14}, dotRows: 4, masks: true},
	{name: "avx2", reg: "Y", lanes: 8, registers: 16, maxRows: [3]int{1: 12, 2: 6}, dotRows: 2},
}

// bytes is the size of a vector.
func (s isa) bytes() int { return 4 * s.lanes }

// vector names a vector register.
func (s isa) vector(i int) string { return fmt.Sprintf("%s%d", s.reg, i) }
