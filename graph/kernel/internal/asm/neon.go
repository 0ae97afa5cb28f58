package asm

import (
	"fmt"
	"strconv"
	"strings"
)

// neonWords are NEON's instructions that Go's assembler lacks: their encodings with all registers
// 0, for lanes of float32 (Arm Architecture Reference Manual, C7.2). Bit 22 makes the lanes
// float64; instructions written without lanes have one form.
var neonWords = map[string]uint32{
	"FADD":     0x4e20d400,
	"FSUB":     0x4ea0d400,
	"FMUL":     0x6e20dc00,
	"FDIV":     0x6e20fc00,
	"FCMGT":    0x6ea0e400, // all ones where the second operand is larger than the first
	"FCMEQ":    0x4e20e400,
	"FADDP":    0x6e20d400,
	"FSQRT":    0x6ea1f800,
	"FNEG":     0x6ea0f800,
	"FMAXV":    0x6e30f800,
	"FADDPD":   0x7e70d800, // the sum of the two float64, in the lowest
	"FCVTL":    0x0e617800, // the lower two float32, widened
	"FCVTL2":   0x4e617800, // the upper two
	"FCVTN":    0x0e616800, // narrows to the lower two
	"SCVTF":    0x4e21d800,
	"FMLALANE": 0x4f801000, // multiplies by a lane of its first operand
	"BFMLALB":  0x0fc0f000, // multiplies the even bfloat16 by an element of its first operand
	"BFMLALT":  0x4fc0f000, // the odd ones
	"SXTL":     0x0f10a400, // the lower four int16 to int32
	"SXTL2":    0x4f10a400, // the upper four
	"SXTLB":    0x0f08a400, // the lower eight int8 to int16
	"SXTLB2":   0x4f08a400, // the upper eight
	"SHLL":     0x2e613800, // the lower four 16-bit words to the upper halves of 32-bit ones
	"SHLL2":    0x6e613800, // the upper four
}

// Lanes of a vector, as Go's assembler writes them.
const (
	Singles = "S4"
	Doubles = "D2"
	Bytes   = "B16"
)

// Neon writes an instruction for all lanes of its registers, in the order of Go's assembler,
// destination last: a word where Go's assembler lacks the instruction.
func (w *Writer) Neon(name, lanes string, registers ...string) {
	operands := make([]string, len(registers))
	for i, r := range registers {
		operands[i] = r
		if r[0] != '$' && lanes != "" {
			operands[i] += "." + lanes
		}
	}
	word, ok := neonWords[name]
	if !ok {
		w.Op(name, operands...)
		return
	}
	if lanes == Doubles {
		word |= 1 << 22
	}
	shifts := []int{16, 5, 0} // of Rm, Rn and Rd
	for i, r := range registers {
		word |= Number(r) << shifts[i+3-len(registers)]
	}
	w.Line("\tWORD $%#08x // %s %s", word, name, strings.Join(operands, ", "))
}

// NeonLane writes to += by * lane i of from, for lanes of float32.
func (w *Writer) NeonLane(from string, i int, by, to string) {
	word := neonWords["FMLALANE"] | uint32(i&1)<<21 | uint32(i>>1)<<11 | Number(from)<<16 | Number(by)<<5 | Number(to)
	w.Line("\tWORD $%#08x // FMLALANE %s.S[%d], %s.S4, %s.S4", word, from, i, by, to)
}

// NeonHalf writes to += by * element i of from, for the odd (upper) or even bfloat16 of by. It is
// BFMLALT or BFMLALB; from is one of the first 16 registers.
func (w *Writer) NeonHalf(odd bool, from string, i int, by, to string) {
	name, word := "BFMLALB", neonWords["BFMLALB"]
	if odd {
		name, word = "BFMLALT", neonWords["BFMLALT"]
	}
	word |= uint32(i&3)<<20 | uint32(i>>2)<<11 | Number(from)<<16 | Number(by)<<5 | Number(to)
	w.Line("\tWORD $%#08x // %s %s.H[%d], %s.H8, %s.S4", word, name, from, i, by, to)
}

// Number returns the number of a vector register.
func Number(register string) uint32 {
	n, err := strconv.Atoi(register[1:])
	if err != nil {
		panic(fmt.Sprintf("%s is no vector register", register))
	}
	return uint32(n)
}

// Scalar returns the name by which loads and stores know a vector register of NEON.
func Scalar(register string) string { return "F" + register[1:] }

// LoadLanes reads the given number of float32, up to four, from the address in a register; missing
// lanes become zero. It overwrites the register scratch.
func (w *Writer) LoadLanes(count int, offset int, pointer, to, scratch string) {
	from := fmt.Sprintf("%d(%s)", offset, pointer)
	w.Op([]string{1: "FMOVS", 2: "FMOVD", 3: "FMOVD", 4: "FMOVQ"}[count], from, Scalar(to))
	if count == 3 {
		w.Op("ADD", fmt.Sprintf("$%d", offset+8), pointer, scratch)
		w.Op("VLD1", "("+scratch+")", to+".S[2]")
	}
}

// StoreLanes writes the lowest float32 lanes of a vector, as LoadLanes reads them.
func (w *Writer) StoreLanes(from string, count int, offset int, pointer, scratch string) {
	to := fmt.Sprintf("%d(%s)", offset, pointer)
	w.Op([]string{1: "FMOVS", 2: "FMOVD", 3: "FMOVD", 4: "FMOVQ"}[count], Scalar(from), to)
	if count == 3 {
		w.Op("ADD", fmt.Sprintf("$%d", offset+8), pointer, scratch)
		w.Op("VST1", from+".S[2]", "("+scratch+")")
	}
}
