package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// General registers: AX is the number of bytes walked along the float32 slices, CX the number of
// elements left, R11 scratch.
var pointers = []string{"DI", "SI", "DX", "BX", "R8", "R9"}

// builder writes one routine for one instruction set. The vector registers from the lowest up are
// those that the work on each unrolled vector uses, then the kept ones; from the highest down, the
// constants (AVX-512; AVX2 reads them from memory) and the broadcast numbers.
type builder struct {
	asm.Writer
	*routine
	offsets   map[string]int
	registers map[string]string // registers of constants and numbers, by name
	vector    int               // number of the unrolled vector being worked on
	masked    bool              // the vector is the last, partial one
}

// wideMask is AVX2's mask for the float64 elements of the last vector; Mask is the one for float32.
const wideMask = "Y14"

// r returns working register i of the current vector.
func (b *builder) r(i int) string { return b.Vector(b.vector*b.scratch + i) }

// k returns kept register i of the current vector.
func (b *builder) k(i int) string { return b.keptOf(b.vector, i) }

func (b *builder) keptOf(vector, i int) string {
	return b.Vector(b.unroll*b.scratch + vector*b.kept + i)
}

// number returns the register with a broadcast number.
func (b *builder) number(name string) string { return b.registers[name] }

// c returns a constant as the first operand of an instruction: a register or memory.
func (b *builder) c(name string) string {
	if b.Masks {
		return b.registers[name]
	}
	return name + "<>(SB)"
}

// inRegister returns a register with a constant; if none has it yet, it is loaded into the given
// one.
func (b *builder) inRegister(name, register string) string {
	if b.Masks {
		return b.registers[name]
	}
	b.Op("VMOVUPS", b.c(name), register)
	return register
}

// address returns the address of the current vector's elements in a slice.
func (b *builder) address(name string) string {
	for i, s := range b.slices {
		if s.name == name {
			offset := b.vector * b.step(b.ISA) * s.kind.size
			return fmt.Sprintf("%d(%s)(AX*%d)", offset, pointers[i], s.kind.size/4)
		}
	}
	return "unknown slice " + name
}

// load reads float32 elements into the lanes of a vector; the missing ones of a partial vector
// become zero.
func (b *builder) load(name, to string) { b.Load(b.address(name), to, b.masked) }

// loadOr reads like load, but the missing elements of a partial vector are taken from the register
// other.
func (b *builder) loadOr(name, other, to string) {
	switch {
	case !b.masked:
		b.Op("VMOVUPS", b.address(name), to)
	case b.Masks:
		b.Op("VMOVAPS", other, to)
		b.Op("VMOVUPS", b.address(name), "K1", to)
	default:
		b.Op("VMASKMOVPS", b.address(name), b.Mask(), to)
		b.Op("VBLENDVPS", b.Mask(), to, other, to)
	}
}

// store writes float32 lanes.
func (b *builder) store(from, name string) { b.Store(from, b.address(name), b.masked) }

// loadWidened reads float32 elements into float64 lanes.
func (b *builder) loadWidened(name, to string) {
	switch {
	case !b.masked:
		b.Op("VCVTPS2PD", b.address(name), to)
	case b.Masks:
		b.Op("VCVTPS2PD.Z", b.address(name), "K1", to)
	default:
		b.Op("VMASKMOVPS", b.address(name), b.Half(b.Mask()), b.Half(to))
		b.Op("VCVTPS2PD", b.Half(to), to)
	}
}

// storeNarrowed writes float64 lanes as float32 elements, and leaves the rounded values in the
// lower half of the register.
func (b *builder) storeNarrowed(from, name string) {
	narrow := b.Half(from)
	if b.Masks {
		b.Op("VCVTPD2PS", from, narrow)
	} else {
		b.Op("VCVTPD2PSY", from, narrow)
	}
	switch {
	case !b.masked:
		b.Op("VMOVUPS", narrow, b.address(name))
	case b.Masks:
		b.Op("VMOVUPS", from, "K1", b.address(name)) // the mask has bits at most for the lower half
	default:
		b.Op("VMASKMOVPS", narrow, b.Half(b.Mask()), b.address(name))
	}
}

// loadDouble reads float64 elements.
func (b *builder) loadDouble(name, to string) {
	switch {
	case !b.masked:
		b.Op("VMOVUPD", b.address(name), to)
	case b.Masks:
		b.Op("VMOVUPD.Z", b.address(name), "K1", to)
	default:
		b.Op("VMASKMOVPD", b.address(name), wideMask, to)
	}
}

// storeDouble writes float64 elements.
func (b *builder) storeDouble(from, name string) {
	switch {
	case !b.masked:
		b.Op("VMOVUPD", from, b.address(name))
	case b.Masks:
		b.Op("VMOVUPD", from, "K1", b.address(name))
	default:
		b.Op("VMASKMOVPD", from, wideMask, b.address(name))
	}
}

// clearRest sets the lanes beyond a partial vector to zero.
func (b *builder) clearRest(register string) {
	lanes, mask := "PS", b.Mask()
	if b.wide {
		lanes, mask = "PD", wideMask
	}
	switch {
	case !b.masked:
	case b.Masks:
		b.Op("VMOVA"+lanes+".Z", register, "K1", register)
	default:
		b.Op("VAND"+lanes, mask, register, register)
	}
}

// zero clears a register with a number below 16.
func (b *builder) zero(register string) {
	x := asm.Quarter(register)
	b.Op("VXORPS", x, x, x)
}
