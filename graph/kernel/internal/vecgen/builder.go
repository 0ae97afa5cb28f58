package main

import (
	"bytes"
	"fmt"
	"strings"
)

// General registers: AX is the distance walked along the float32 slices in bytes, CX
// the number of elements left, R11 scratch.
var pointers = []string{"DI", "SI", "DX", "BX", "R8", "R9"}

// builder writes one routine for one instruction set. The vector registers are, from
// below, those of the work on each unrolled vector, then the kept ones; from above, the
// constants (AVX-512; AVX2 reads them from memory) and the broadcast numbers.
type builder struct {
	bytes.Buffer
	isa
	*routine
	offsets map[string]int
	held    map[string]string // registers of constants and numbers
	vector  int               // which of the unrolled vectors is worked on
	masked  bool              // the vector is the last, partial one
}

// Masks of AVX2 for the last vector: of float32 and of float64 elements.
const (
	mask     = "Y15"
	wideMask = "Y14"
)

func (b *builder) line(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// op writes an instruction, operands in the order of Go's assembler: destination last.
func (b *builder) op(name string, operands ...string) {
	b.line("\t%s", strings.TrimSpace(name+" "+strings.Join(operands, ", ")))
}

// r is working register i of the current vector.
func (b *builder) r(i int) string { return b.isa.vector(b.vector*b.scratch + i) }

// k is kept register i of the current vector.
func (b *builder) k(i int) string { return b.keptOf(b.vector, i) }

func (b *builder) keptOf(vector, i int) string {
	return b.isa.vector(b.unroll*b.scratch + vector*b.kept + i)
}

// number is the register with the broadcast number.
func (b *builder) number(name string) string { return b.held[name] }

// c is a constant as the first operand of an instruction: a register or memory.
func (b *builder) c(name string) string {
	if b.masks {
		return b.held[name]
	}
	return name + "<>(SB)"
}

// inRegister is a constant in a register, which is the given one if there is none yet.
func (b *builder) inRegister(name, register string) string {
	if b.masks {
		return b.held[name]
	}
	b.op("VMOVUPS", b.c(name), register)
	return register
}

// address is the place of the current vector's elements of a slice.
func (b *builder) address(name string) string {
	for i, s := range b.slices {
		if s.name == name {
			offset := b.vector * b.step(b.isa) * s.kind.size
			return fmt.Sprintf("%d(%s)(AX*%d)", offset, pointers[i], s.kind.size/4)
		}
	}
	return "unknown slice " + name
}

// load reads float32 elements into as many lanes; the rest of a partial vector is zero.
func (b *builder) load(name, to string) {
	switch {
	case !b.masked:
		b.op("VMOVUPS", b.address(name), to)
	case b.masks:
		b.op("VMOVUPS.Z", b.address(name), "K1", to)
	default:
		b.op("VMASKMOVPS", b.address(name), mask, to)
	}
}

// loadOr is load, with what a register holds in the rest of a partial vector.
func (b *builder) loadOr(name, other, to string) {
	switch {
	case !b.masked:
		b.op("VMOVUPS", b.address(name), to)
	case b.masks:
		b.op("VMOVAPS", other, to)
		b.op("VMOVUPS", b.address(name), "K1", to)
	default:
		b.op("VMASKMOVPS", b.address(name), mask, to)
		b.op("VBLENDVPS", mask, to, other, to)
	}
}

// store writes float32 lanes.
func (b *builder) store(from, name string) {
	switch {
	case !b.masked:
		b.op("VMOVUPS", from, b.address(name))
	case b.masks:
		b.op("VMOVUPS", from, "K1", b.address(name))
	default:
		b.op("VMASKMOVPS", from, mask, b.address(name))
	}
}

// loadWidened reads float32 elements into float64 lanes.
func (b *builder) loadWidened(name, to string) {
	switch {
	case !b.masked:
		b.op("VCVTPS2PD", b.address(name), to)
	case b.masks:
		b.op("VCVTPS2PD.Z", b.address(name), "K1", to)
	default:
		b.op("VMASKMOVPS", b.address(name), b.halfOf(mask), b.halfOf(to))
		b.op("VCVTPS2PD", b.halfOf(to), to)
	}
}

// storeNarrowed writes float64 lanes as float32 elements, and leaves the rounded values
// in the lower half of the register.
func (b *builder) storeNarrowed(from, name string) {
	narrow := b.halfOf(from)
	if b.masks {
		b.op("VCVTPD2PS", from, narrow)
	} else {
		b.op("VCVTPD2PSY", from, narrow)
	}
	switch {
	case !b.masked:
		b.op("VMOVUPS", narrow, b.address(name))
	case b.masks:
		b.op("VMOVUPS", from, "K1", b.address(name)) // the mask has bits for the lower half at most
	default:
		b.op("VMASKMOVPS", narrow, b.halfOf(mask), b.address(name))
	}
}

// loadDouble reads float64 elements.
func (b *builder) loadDouble(name, to string) {
	switch {
	case !b.masked:
		b.op("VMOVUPD", b.address(name), to)
	case b.masks:
		b.op("VMOVUPD.Z", b.address(name), "K1", to)
	default:
		b.op("VMASKMOVPD", b.address(name), wideMask, to)
	}
}

// storeDouble writes float64 elements.
func (b *builder) storeDouble(from, name string) {
	switch {
	case !b.masked:
		b.op("VMOVUPD", from, b.address(name))
	case b.masks:
		b.op("VMOVUPD", from, "K1", b.address(name))
	default:
		b.op("VMASKMOVPD", from, wideMask, b.address(name))
	}
}

// clearRest sets the float64 lanes beyond a partial vector to zero.
func (b *builder) clearRest(register string) {
	switch {
	case !b.masked:
	case b.masks:
		b.op("VMOVAPD.Z", register, "K1", register)
	default:
		b.op("VANDPD", wideMask, register, register)
	}
}

// clearRestSingle is clearRest for float32 lanes.
func (b *builder) clearRestSingle(register string) {
	switch {
	case !b.masked:
	case b.masks:
		b.op("VMOVAPS.Z", register, "K1", register)
	default:
		b.op("VANDPS", mask, register, register)
	}
}

// zero clears a register below 16.
func (b *builder) zero(register string) {
	x := "X" + register[1:]
	b.op("VXORPS", x, x, x)
}
