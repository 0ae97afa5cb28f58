package main

import (
	"fmt"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// General registers: AX is the number of bytes walked along the float32 slices, CX the number of
// elements left, R11 scratch; R12 and R13, in routines over rows, the row and the number of rows.
var pointers = []string{"DI", "SI", "DX", "BX", "R8", "R9", "R10", "R12", "R13"}

// builder writes one routine for one instruction set. The vector registers from the lowest up are
// those that the work on each unrolled vector uses, then the kept ones; from the highest down, the
// constants (AVX-512; AVX2 reads them from memory) and the broadcast numbers.
type builder struct {
	asm.Writer
	*parsed
	offsets   map[string]int
	registers map[string]string // registers of constants and numbers, by name
	vector    int               // number of the unrolled vector being worked on
	masked    bool              // the vector is the last, partial one

	places map[string]string // NEON: where the values of working registers are, if elsewhere
	free   string            // NEON: the register that holds none
	rest   int               // NEON: elements of the partial vector
	spill  string            // NEON: receives constants for which no register is left
}

// wideMask is AVX2's mask for the float64 elements of the last vector; Mask is the one for float32.
const wideMask = "Y14"

// r returns working register i of the current vector.
func (b *builder) r(i int) string { return b.moved(b.Vector(b.vector*len(b.scratchNames) + i)) }

// keptOf returns kept register i of a vector.
func (b *builder) keptOf(vector, i int) string {
	return b.Vector(b.unroll*len(b.scratchNames) + vector*len(b.keptNames) + i)
}

// slice returns the kind of a slice's elements, the register that points to them, and the offset of
// the current vector's.
func (b *builder) slice(name string) (k kind, pointer string, offset int) {
	for i, s := range b.slices {
		if s.name == name {
			if b.NEON() {
				pointer = neonPointers[i]
			} else {
				pointer = pointers[i]
			}
			return s.kind, pointer, b.vector * b.step(b.ISA) * s.kind.size
		}
	}
	panic(b.name + ": unknown slice " + name)
}

// address returns the kind and the address of the current vector's elements in a slice.
func (b *builder) address(name string) (k kind, address string) {
	k, pointer, offset := b.slice(name)
	return k, fmt.Sprintf("%d(%s)(AX*%d)", offset, pointer, k.size/4)
}

// load reads elements into the lanes of a vector, widened if a lane is; the missing ones of a
// partial vector become zero.
func (b *builder) load(name, to string) {
	if b.NEON() {
		b.neonLoad(name, to)
		return
	}
	k, from := b.address(name)
	switch {
	case k == double:
		b.move("VMOVUPD", from, to)
	case !b.wide:
		b.Load(from, to, b.masked)
	case b.masked && !b.Masks:
		b.Op("VMASKMOVPS", from, b.Half(b.Mask()), b.Half(to))
		b.Op("VCVTPS2PD", b.Half(to), to)
	default:
		b.move("VCVTPS2PD", from, to)
	}
}

// move loads float64 lanes by an instruction, AVX2 those of a partial vector by the mask.
func (b *builder) move(name, from, to string) {
	switch {
	case !b.masked:
		b.Op(name, from, to)
	case b.Masks:
		b.Op(name+".Z", from, "K1", to)
	default:
		b.Op("VMASKMOVPD", from, wideMask, to)
	}
}

// loadOr reads like load, but the missing elements of a partial vector are taken from the register
// other.
func (b *builder) loadOr(name, other, to string) {
	if b.NEON() {
		b.neonLoadOr(name, other, to)
		return
	}
	_, from := b.address(name)
	switch {
	case !b.masked:
		b.Op("VMOVUPS", from, to)
	case b.Masks:
		b.Op("VMOVAPS", other, to)
		b.Op("VMOVUPS", from, "K1", to)
	default:
		b.Op("VMASKMOVPS", from, b.Mask(), to)
		b.Op("VBLENDVPS", b.Mask(), to, other, to)
	}
}

// store writes lanes, if masked only those of a partial vector. Wide ones are narrowed for a
// float32 slice: the rounded values remain in the lower half of the register.
func (b *builder) store(from, name string, masked bool) {
	if b.NEON() {
		b.neonStore(from, name, masked)
		return
	}
	k, to := b.address(name)
	narrows := b.wide && k == single
	if narrows {
		b.narrow(from)
	}
	switch {
	case !b.wide:
		b.Store(from, to, masked)
	case narrows && !masked:
		b.Op("VMOVUPS", b.Half(from), to)
	case !masked:
		b.Op("VMOVUPD", from, to)
	case narrows && b.Masks:
		b.Op("VMOVUPS", from, "K1", to) // the mask has bits at most for the lower half
	case b.Masks:
		b.Op("VMOVUPD", from, "K1", to)
	case narrows:
		b.Op("VMASKMOVPS", b.Half(from), b.Half(b.Mask()), to)
	default:
		b.Op("VMASKMOVPD", from, wideMask, to)
	}
}

// narrow rounds float64 lanes to float32 in the lower half of their register.
func (b *builder) narrow(register string) {
	if b.NEON() {
		b.Neon("FCVTN", "", register, register)
		return
	}
	name := "VCVTPD2PSY"
	if b.Masks {
		name = "VCVTPD2PS"
	}
	b.Op(name, register, b.Half(register))
}

// clearRest sets the lanes beyond a partial vector to zero.
func (b *builder) clearRest(register string) {
	if b.NEON() {
		b.neonClearRest(register)
		return
	}
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
