package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// Listings are in AVX's instructions; this file writes each for NEON, with the same bits in every
// lane. General registers: R0 to R5 and R11 to R13 point to the current vectors, R6 is the number
// of elements left, R7 and R8 are scratch, R9 points to the row and R10 counts those left.
//
// NEON multiplies and adds into the addend alone. Where AVX replaces a factor, the sum is taken in
// a free register, which then is the factor's.
var neonPointers = []string{"R0", "R1", "R2", "R3", "R4", "R5", "R11", "R12", "R13"}

// neonFree is the register that is free at the beginning of the work on a vector.
const neonFree = "V31"

// moved returns where the value of a working register is.
func (b *builder) moved(register string) string {
	if at, ok := b.places[register]; ok {
		return at
	}
	return register
}

// moveTo makes the free register the home of the value that a register named, whose place becomes
// free.
func (b *builder) moveTo(place string) {
	if b.build != nil || b.isKept(place) {
		b.Neon("VMOV", asm.Bytes, b.free, place)
		return
	}
	for v := range len(b.scratchNames) {
		if name := b.Vector(b.vector*len(b.scratchNames) + v); b.moved(name) == place {
			b.places[name], b.free = b.free, place
			return
		}
	}
	panic(b.name + ": " + place + " is no working register")
}

func (b *builder) isKept(register string) bool {
	for v := range b.unroll {
		for i := range b.keptNames {
			if b.keptOf(v, i) == register {
				return true
			}
		}
	}
	return false
}

// neonSame maps AVX's instructions to those of NEON with the same operands.
var neonSame = map[string][2]string{
	"VADDPS": {"FADD", asm.Singles}, "VSUBPS": {"FSUB", asm.Singles}, "VMULPS": {"FMUL", asm.Singles}, "VDIVPS": {"FDIV", asm.Singles},
	"VADDPD": {"FADD", asm.Doubles}, "VSUBPD": {"FSUB", asm.Doubles}, "VMULPD": {"FMUL", asm.Doubles}, "VDIVPD": {"FDIV", asm.Doubles},
	"VFMADD231PS": {"VFMLA", asm.Singles}, "VFNMADD231PS": {"VFMLS", asm.Singles}, "VSQRTPS": {"FSQRT", asm.Singles},
	"VFMADD231PD": {"VFMLA", asm.Doubles}, "VFNMADD231PD": {"VFMLS", asm.Doubles},
	"VPADDQ": {"VADD", asm.Doubles}, "VPSLLQ": {"VSHL", asm.Doubles}, "VPSLLD": {"VSHL", asm.Singles},
	"VPAND": {"VAND", asm.Bytes}, "VPOR": {"VORR", asm.Bytes}, "VPXOR": {"VEOR", asm.Bytes},
	"VMOVUPS": {"VMOV", asm.Bytes}, "VMOVUPD": {"VMOV", asm.Bytes}, "VMOVAPS": {"VMOV", asm.Bytes},
}

// neon writes an instruction of a listing.
func (b *builder) neon(name string, x ...string) {
	if same, ok := neonSame[name]; ok {
		b.Neon(same[0], same[1], x...)
		return
	}
	to, lanes := x[len(x)-1], asm.Singles
	if strings.HasSuffix(name, "PD") {
		lanes = asm.Doubles
	}
	switch name[:len(name)-2] {
	case "VMAX":
		b.Neon("FCMGT", lanes, x[0], x[1], b.free)
		b.pick(x[0], x[1], to)
	case "VMIN":
		b.Neon("FCMGT", lanes, x[1], x[0], b.free)
		b.pick(x[0], x[1], to)
	case "VFMSUB231":
		b.Neon("FNEG", lanes, to, to)
		b.Neon("VFMLA", lanes, x...)
	case "VFMADD213":
		b.neonFused("VMOV", "VFMLA", lanes, x)
	case "VFNMADD213":
		b.neonFused("VMOV", "VFMLS", lanes, x)
	case "VFMSUB213":
		b.neonFused("FNEG", "VFMLA", lanes, x)
	default:
		panic(b.Writer.Name + ": no instruction for " + name)
	}
}

// neonFused adds the product of the second and third operand to the first, after an instruction on
// that, and replaces the third.
func (b *builder) neonFused(before, fused, lanes string, x []string) {
	if before == "VMOV" {
		b.Neon(before, asm.Bytes, x[0], b.free)
	} else {
		b.Neon(before, lanes, x[0], b.free)
	}
	b.Neon(fused, lanes, x[1], x[2], b.free)
	b.moveTo(x[2])
}

func choose[V any](condition bool, yes, no V) V {
	if condition {
		return yes
	}
	return no
}

// pick writes the lanes of yes where the free register has ones, elsewhere those of no.
func (b *builder) pick(no, yes, to string) {
	switch to {
	case no:
		b.Neon("VBIT", asm.Bytes, b.free, yes, to)
	case yes:
		b.Neon("VBIF", asm.Bytes, b.free, no, to)
	default:
		b.Neon("VBSL", asm.Bytes, no, yes, b.free)
		b.Neon("VMOV", asm.Bytes, b.free, to)
	}
}

// neonLoad reads the elements of the current vector, of which the partial one has b.rest.
func (b *builder) neonLoad(name, to string) {
	k, pointer, offset := b.slice(name)
	b.LoadLanes(b.width(k), offset, pointer, to, "R7")
	if b.wide && k == single {
		b.Neon("FCVTL", "", to, to)
	}
}

// width returns the number of 32-bit lanes that the current vector's elements take in memory.
func (b *builder) width(k kind) int {
	elements := b.step(b.ISA)
	if b.masked {
		elements = b.rest
	}
	return elements * k.size / 4
}

// neonLoadOr is loadOr.
func (b *builder) neonLoadOr(name, other, to string) {
	if !b.masked {
		b.neonLoad(name, to)
		return
	}
	_, pointer, offset := b.slice(name)
	b.Neon("VMOV", asm.Bytes, other, to)
	for lane := range b.rest {
		b.Op("ADD", fmt.Sprintf("$%d", offset+4*lane), pointer, "R7")
		b.Op("VLD1", "(R7)", fmt.Sprintf("%s.S[%d]", to, lane))
	}
}

// neonStore is store.
func (b *builder) neonStore(from, name string, masked bool) {
	k, pointer, offset := b.slice(name)
	if b.wide && k == single {
		b.narrow(from)
	}
	count := b.width(k)
	if !masked {
		count = b.step(b.ISA) * k.size / 4
	}
	b.StoreLanes(from, count, offset, pointer, "R7")
}

// neonClearRest is clearRest.
func (b *builder) neonClearRest(register string) {
	scalar := asm.Scalar(register)
	switch {
	case !b.masked:
	case b.wide || b.rest == 2:
		b.Op("FMOVD", scalar, scalar) // clears what follows the lowest 64 bits
	case b.rest == 1:
		b.Op("FMOVS", scalar, scalar)
	default:
		b.Op("VMOV", "ZR", register+".S[3]")
	}
}

// neonBroadcast loads a number into all lanes.
func (b *builder) neonBroadcast(v variable) {
	register, lanes := b.registers[v.name], asm.Singles
	load := "FMOVS"
	if v.kind == double {
		load, lanes = "FMOVD", asm.Doubles
	}
	b.Op(load, b.argument(v.name), asm.Scalar(register))
	b.Op("VDUP", register+"."+lanes[:1]+"[0]", register+"."+lanes)
}

// neonHold loads constants into the registers that are left: all, or all but those that come last,
// which are loaded where they are used.
func (b *builder) neonHold(next int) {
	lowest := b.unroll * (len(b.scratchNames) + len(b.keptNames))
	if next-lowest+1 < len(b.constantNames) {
		b.spill = b.Vector(next)
		next--
	}
	for _, name := range b.constantNames {
		if next < lowest {
			return
		}
		b.registers[name] = b.Vector(next)
		next--
		b.neonConstant(name, b.registers[name])
	}
}

// neonConstant loads a constant into a register, which it returns.
func (b *builder) neonConstant(name, register string) string {
	b.Op("MOVD", "$"+name+"<>(SB)", "R7")
	b.Op("FMOVQ", "(R7)", asm.Scalar(register))
	return register
}

// neonLoop walks along the slices: groups of unrolled vectors, then single vectors, then the
// partial one, whose work is written for each number of elements.
func (b *builder) neonLoop() {
	step := b.step(b.ISA)
	advance := func(vectors int, again string) {
		for i, s := range b.slices {
			b.Op("ADD", fmt.Sprintf("$%d", vectors*step*s.kind.size), neonPointers[i])
		}
		b.Op("SUBS", fmt.Sprintf("$%d", vectors*step), "R6")
		b.Op("BGE", again)
	}
	b.Op("SUBS", fmt.Sprintf("$%d", b.unroll*step), "R6")
	b.Op("BLT", "few")
	b.Label("group")
	for b.vector = range b.unroll {
		b.emitWork()
	}
	advance(b.unroll, "group")
	b.Label("few")
	b.vector = 0
	if b.unroll > 1 {
		b.Op("ADDS", fmt.Sprintf("$%d", (b.unroll-1)*step), "R6")
		b.Op("BLT", "rest")
		b.Label("one")
		b.emitWork()
		advance(1, "one")
	}
	b.Label("rest")
	b.Op("ADDS", fmt.Sprintf("$%d", step), "R6")
	b.Op("BEQ", "done")
	b.masked = true
	for b.rest = 1; b.rest < step; b.rest++ {
		if b.rest < step-1 {
			b.Op("CMP", fmt.Sprintf("$%d", b.rest), "R6")
			b.Op("BNE", fmt.Sprintf("not%d", b.rest))
		}
		b.emitWork()
		if b.rest < step-1 {
			b.Op("B", "done")
			b.Label(fmt.Sprintf("not%d", b.rest))
		}
	}
	b.Label("done")
}

// neonRows is emitRows.
func (b *builder) neonRows() {
	b.Op("MOVD", b.argument("rows"), "R9")
	b.Op("MOVD", b.argument("n"), "R10")
	b.Label("row")
	b.neonAddRows("scoreRow_at")
	b.Op("MOVD", "scoreRow_n(R9)", "R6")
	for _, v := range b.numbers {
		if b.ofRow(v) {
			b.broadcast(v)
		}
	}
	b.emitRow()
	if b.clears {
		b.neonAddRows("scoreRow_at", "scoreRow_n")
		b.Neon("VEOR", asm.Bytes, "V0", "V0", "V0")
		for i := range b.slices {
			for at := 0; at < rowsClear; at += b.Lanes {
				b.Op("FMOVQ", "F0", fmt.Sprintf("%d(%s)", 4*at, neonPointers[i]))
			}
		}
	}
	b.Op("ADD", "$scoreRow_size", "R9")
	b.Op("SUBS", "$1", "R10")
	b.Op("BNE", "row")
}

// neonAddRows sets the pointers to elements of the slices whose numbers are sums of fields of the
// row.
func (b *builder) neonAddRows(fields ...string) {
	for i, s := range b.slices {
		b.Op("MOVD", b.argument(s.name), neonPointers[i])
		for _, field := range fields {
			b.Op("MOVD", field+"(R9)", "R7")
			b.Op("ADD", fmt.Sprintf("R7<<%d", s.kind.size/2-s.kind.size/8), neonPointers[i])
		}
	}
}

// neonAddLanes is emitAddLanes.
func (b *builder) neonAddLanes(i int, result string) {
	total := b.keptOf(0, i)
	b.Neon("FADDPD", "", total, total)
	b.Op("FMOVD", asm.Scalar(total), b.argument(result))
}

// neonWidenTotal sums pairs of float32 lanes in float64.
func (b *builder) neonWidenTotal(total string) {
	b.Neon("FCVTL2", "", total, "V0")
	b.Neon("FCVTL", "", total, total)
	b.Neon("FADD", asm.Doubles, "V0", total, total)
}

// neonMax is the end of emitMax. The lanes hold no NaN.
func (b *builder) neonMax(total, result string) {
	b.Neon("FMAXV", asm.Singles, total, total)
	b.Op("FMOVS", asm.Scalar(total), b.argument(result))
}

// instructionSets lists the instruction sets of a processor.
func instructionSets(processor string) []asm.ISA {
	return slices.DeleteFunc(slices.Clone(isas), func(s asm.ISA) bool { return s.Processor != processor })
}
