package main

import (
	"fmt"
	"slices"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// emit writes the whole function.
func (b *builder) emit() {
	offsets, size := b.frame()
	b.offsets, b.registers = offsets, map[string]string{}
	b.Function(b.declaration(b.ISA), 0, size)
	if b.rows() {
		b.emitBroadcasts()
		b.emitRows()
		b.Return()
		return
	}
	if b.NEON() {
		b.neonAddRows()
		b.Op("MOVD", b.argument("n"), "R6")
	} else {
		for i, s := range b.slices {
			b.Op("MOVQ", b.argument(s.name), pointers[i])
		}
		b.Op("MOVQ", b.argument("n"), "CX")
	}
	b.emitBroadcasts()
	b.emitRow()
	b.Return()
}

// emitRow handles the CX elements that the pointers point to.
func (b *builder) emitRow() {
	for b.vector = range b.unroll {
		b.emitStart()
	}
	b.emitLoop()
	b.vector, b.masked = 0, false
	for i, result := range b.results {
		switch {
		case result.kind == single:
			b.emitMax(i, result.name)
		case b.wide:
			b.emitSum(i, result.name)
		default:
			b.emitSumSingle(i, result.name)
		}
	}
}

// emitStart sets the kept registers of a vector. A result is a sum in float64, or the largest
// float32.
func (b *builder) emitStart() {
	for _, result := range b.results {
		if result.kind == single {
			b.run("VMOVUPS minusInf, " + result.name)
		} else {
			b.run("zero " + result.name)
		}
	}
	b.run(b.start)
}

// emitWork handles the current vector. Routines that are built see only whole vectors.
func (b *builder) emitWork() {
	b.places, b.free = map[string]string{}, neonFree
	switch {
	case b.build == nil:
		b.run(b.work)
	case !b.masked:
		b.build(b)
	}
}

// longWork is a number of instructions from which on those of one vector, most of which wait for
// the one before, are more than a processor looks ahead.
const longWork = 20

// emitGroup handles the unrolled vectors; if the work is long, each instruction for all vectors
// before the next one.
func (b *builder) emitGroup() {
	lines := flat(b.work)
	if b.build != nil || len(lines) < longWork {
		for b.vector = range b.unroll {
			b.emitWork()
		}
		return
	}
	for _, x := range lines {
		for b.vector = range b.unroll {
			b.instruction(x[0], slices.Clone(x[1:]))
		}
	}
}

// argument returns where an argument or result lies: on the stack, or in the row.
func (b *builder) argument(name string) string {
	if offset, ok := b.offsets[name]; ok {
		return fmt.Sprintf("%s+%d(FP)", name, offset)
	}
	return fmt.Sprintf("scoreRow_%s(%s)", name, choose(b.NEON(), "R9", "R12"))
}

// broadcast loads a number into all lanes of its register.
func (b *builder) broadcast(v variable) {
	if b.NEON() {
		b.neonBroadcast(v)
		return
	}
	name := "VBROADCASTSS"
	if v.kind == double {
		name = "VBROADCASTSD"
	}
	b.Op(name, b.argument(v.name), b.registers[v.name])
}

// emitBroadcasts loads the values that stay in registers: the numbers, except those of rows, and,
// with AVX-512, the constants.
func (b *builder) emitBroadcasts() {
	next := b.Registers - 1
	switch {
	case b.NEON():
		next-- // neonFree
	case !b.Masks:
		next -= 2 // reserved for the masks
	}
	hold := func(name string) string {
		b.registers[name] = b.Vector(next)
		next--
		return b.registers[name]
	}
	for _, v := range b.numbers {
		hold(v.name)
		if !b.ofRow(v) {
			b.broadcast(v)
		}
	}
	if b.NEON() {
		b.neonHold(next)
	}
	if !b.Masks {
		return
	}
	for _, name := range b.constantNames {
		load := "VMOVUPS"
		if k, values := b.constant(name); len(values) == 1 {
			load = "VBROADCASTSS"
			if k == double {
				load = "VBROADCASTSD"
			}
		}
		b.Op(load, name+"<>(SB)", hold(name))
	}
}

// emitLoop walks along the slices: groups of unrolled vectors, then single vectors, then the
// partial one.
func (b *builder) emitLoop() {
	if b.NEON() {
		b.neonLoop()
		return
	}
	step := b.step(b.ISA)
	advance := func(vectors int, again string) {
		b.OpNumber("ADDQ", 4*vectors*step, "AX")
		b.OpNumber("SUBQ", vectors*step, "CX")
		b.Op("JGE", again)
	}
	b.Op("XORL", "AX", "AX")
	b.OpNumber("SUBQ", b.unroll*step, "CX")
	b.Op("JLT", "few")
	b.Label("group")
	b.emitGroup()
	advance(b.unroll, "group")
	b.Label("few")
	b.vector = 0
	if b.unroll > 1 {
		b.OpNumber("ADDQ", (b.unroll-1)*step, "CX")
		b.Op("JLT", "rest")
		b.Label("one")
		b.emitWork()
		advance(1, "one")
	}
	b.Label("rest")
	b.OpNumber("ADDQ", step, "CX")
	b.Op("JZ", "done")
	b.emitMask()
	b.masked = true
	b.emitWork()
	b.Label("done")
}

// emitMask sets the mask to the CX elements that are left.
func (b *builder) emitMask() {
	if b.Masks {
		b.MaskBits("CX", "R11")
		return
	}
	b.Op("LEAQ", "masks<>(SB)", "R11")
	b.Op("SHLQ", "$2", "CX")
	b.Op("SUBQ", "CX", "R11")
	b.Op("VMOVUPS", fmt.Sprintf("%d(R11)", 4*b.Lanes), b.Mask())
	if b.wide {
		b.Op("VPMOVSXDQ", b.Half(b.Mask()), wideMask)
	}
}

// emitMasks writes the table of masks for AVX2: as many words of ones as a vector has lanes, then
// as many of zeros.
func emitMasks(b *builder) {
	b.Table("masks", 4, slices.Concat(slices.Repeat([]string{"0xffffffff"}, b.Lanes), slices.Repeat([]string{"0"}, b.Lanes)))
}

// emitSum writes the sum of kept register i over all unrolled vectors and over their float64 lanes:
// it adds pairs of vectors, then halves of a vector.
func (b *builder) emitSum(i int, result string) {
	b.emitAddVectors("VADDPD", i)
	b.emitAddLanes(i, result)
}

// emitSumSingle does what emitSum does, for float32 lanes, which are widened before they are
// added to one another.
func (b *builder) emitSumSingle(i int, result string) {
	b.emitAddVectors("VADDPS", i)
	total, upper := b.keptOf(0, i), b.Vector(0)
	if b.NEON() {
		b.neonWidenTotal(total)
		b.emitAddLanes(i, result)
		return
	}
	if b.Masks {
		b.Op("VEXTRACTF64X4", "$1", total, b.Half(upper))
	} else {
		b.Op("VEXTRACTF128", "$1", total, b.Half(upper))
	}
	b.Op("VCVTPS2PD", b.Half(upper), upper)
	b.Op("VCVTPS2PD", b.Half(total), total)
	b.Op("VADDPD", upper, total, total)
	b.emitAddLanes(i, result)
}

// emitAddVectors adds kept register i of all unrolled vectors into the first vector's.
func (b *builder) emitAddVectors(add string, i int) {
	for distance := 1; distance < b.unroll; distance *= 2 {
		for v := 0; v+distance < b.unroll; v += 2 * distance {
			b.op(add, b.keptOf(v+distance, i), b.keptOf(v, i), b.keptOf(v, i))
		}
	}
}

// emitAddLanes writes the sum of the float64 lanes of kept register i.
func (b *builder) emitAddLanes(i int, result string) {
	if b.NEON() {
		b.neonAddLanes(i, result)
		return
	}
	total := b.keptOf(0, i)
	b.Reduce("VADDPD", total, "0")
	b.List(`
		VUNPCKHPD x, x, X0
		VADDSD X0, x, x
		VMOVSD x, result
	`, asm.Names{"x": asm.Quarter(total), "result": b.argument(result)})
}

// emitMax writes the largest of the float32 lanes, as emitSum writes the sum.
func (b *builder) emitMax(i int, result string) {
	total := b.keptOf(0, i)
	for v := 1; v < b.unroll; v++ {
		b.op("VMAXPS", total, b.keptOf(v, i), total)
	}
	if b.NEON() {
		b.neonMax(total, result)
		return
	}
	b.Reduce("VMAXPS", total, "0")
	b.List(`
		VPERMILPS $0x4e, x, X0
		VMAXPS X0, x, x
		VPERMILPS $0xb1, x, X0
		VMAXPS X0, x, x
		VMOVSS x, result
	`, asm.Names{"x": asm.Quarter(total), "result": b.argument(result)})
}
