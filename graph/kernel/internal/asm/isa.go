package asm

import "fmt"

// ISA is an instruction set for which functions are generated.
type ISA struct {
	Name      string
	Lanes     int    // float32 values in a vector
	Registers int    // vector registers
	Masks     bool   // whether there are mask registers (AVX-512F; AVX-512VL and DQ are not needed)
	Processor string // GOARCH

	whole, half string // prefixes of the names of vector registers and of their lower halves
}

// The instruction sets.
var (
	AVX512 = ISA{Name: "avx512", Lanes: 16, Registers: 32, Masks: true, Processor: "amd64", whole: "Z", half: "Y"}
	AVX2   = ISA{Name: "avx2", Lanes: 8, Registers: 16, Processor: "amd64", whole: "Y", half: "X"} // with FMA
	NEON   = ISA{Name: "neon", Lanes: 4, Registers: 32, Processor: "arm64", whole: "V"}
)

// NEON tells whether the instruction set is NEON, whose operands and addressing differ from AVX's.
func (s ISA) NEON() bool { return s.Name == NEON.Name }

// File returns the name of a file of assembly for the instruction set.
func (s ISA) File(subject string) string { return subject + "_" + s.Name + "_" + s.Processor + ".s" }

// Size returns the size of a vector in bytes.
func (s ISA) Size() int { return 4 * s.Lanes }

// Vector returns the name of vector register i.
func (s ISA) Vector(i int) string { return fmt.Sprintf("%s%d", s.whole, i) }

// Half returns the name of a vector register's lower half.
func (s ISA) Half(register string) string { return s.half + register[1:] }

// Quarter returns the name of the lowest 128 bits of a vector register.
func Quarter(register string) string { return "X" + register[1:] }

// Mask returns the register with the mask of a partial vector: a mask register or, with AVX2, the
// last vector register.
func (s ISA) Mask() string {
	if s.Masks {
		return "K1"
	}
	return s.Vector(s.Registers - 1)
}
