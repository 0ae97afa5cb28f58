package main

import "fmt"

// emit writes the whole function.
func (b *builder) emit() {
	offsets, size := b.frame()
	b.offsets, b.held = offsets, map[string]string{}
	b.line("\n// func %s", b.signature(b.isa))
	b.line("TEXT ·%s(SB), NOSPLIT, $0-%d", b.symbol(b.isa), size)
	for i, s := range b.slices {
		b.op("MOVQ", b.argument(s.name), pointers[i])
	}
	b.op("MOVQ", b.argument("n"), "CX")
	b.emitHeld()
	for b.vector = range b.unroll {
		if b.start != nil {
			b.start(b)
		}
	}
	b.emitLoop()
	b.vector, b.masked = 0, false
	if b.finish != nil {
		b.finish(b)
	}
	b.op("VZEROUPPER")
	b.op("RET")
}

func (b *builder) argument(name string) string {
	return fmt.Sprintf("%s+%d(FP)", name, b.offsets[name])
}

// emitHeld loads what stays in registers: the numbers and, with AVX-512, the constants.
func (b *builder) emitHeld() {
	next := b.registers - 1
	if !b.masks {
		next -= 2 // the masks
	}
	hold := func(name, from string, k kind) {
		b.held[name] = b.isa.vector(next)
		next--
		if k == double {
			b.op("VBROADCASTSD", from, b.held[name])
		} else {
			b.op("VBROADCASTSS", from, b.held[name])
		}
	}
	for _, v := range b.numbers {
		hold(v.name, b.argument(v.name), v.kind)
	}
	if !b.masks {
		return
	}
	for _, name := range b.constants {
		c := b.constant(name)
		if len(c.values) == 1 {
			hold(name, name+"<>(SB)", c.kind)
			continue
		}
		b.held[name] = b.isa.vector(next)
		next--
		b.op("VMOVUPS", name+"<>(SB)", b.held[name])
	}
}

// emitLoop walks along the slices: groups of unrolled vectors, single ones, and the
// partial one.
func (b *builder) emitLoop() {
	step := b.step(b.isa)
	advance := func(vectors int, again string) {
		b.op("ADDQ", fmt.Sprintf("$%d", 4*vectors*step), "AX")
		b.op("SUBQ", fmt.Sprintf("$%d", vectors*step), "CX")
		b.op("JGE", again)
	}
	b.op("XORL", "AX", "AX")
	b.op("SUBQ", fmt.Sprintf("$%d", b.unroll*step), "CX")
	b.op("JLT", "few")
	b.line("group:")
	for b.vector = range b.unroll {
		b.work(b)
	}
	advance(b.unroll, "group")
	b.line("few:")
	b.vector = 0
	if b.unroll > 1 {
		b.op("ADDQ", fmt.Sprintf("$%d", (b.unroll-1)*step), "CX")
		b.op("JLT", "rest")
		b.line("one:")
		b.work(b)
		advance(1, "one")
	}
	b.line("rest:")
	b.op("ADDQ", fmt.Sprintf("$%d", step), "CX")
	b.op("JZ", "done")
	b.emitMask()
	b.masked = true
	b.work(b)
	b.line("done:")
}

// emitMask makes the mask of the CX elements that are left.
func (b *builder) emitMask() {
	if b.masks {
		b.op("MOVL", "$1", "R11")
		b.op("SHLL", "CX", "R11")
		b.op("DECL", "R11")
		b.op("KMOVW", "R11", "K1")
		return
	}
	b.op("LEAQ", "masks<>(SB)", "R11")
	b.op("SHLQ", "$2", "CX")
	b.op("SUBQ", "CX", "R11")
	b.op("VMOVUPS", fmt.Sprintf("%d(R11)", 4*b.lanes), mask)
	if b.wide {
		b.op("VPMOVSXDQ", b.halfOf(mask), wideMask)
	}
}

// emitMasks writes the table of AVX2: as many all-ones words as a vector has lanes, then
// as many zeros.
func emitMasks(b *builder) {
	b.line("")
	for i := range 2 * b.lanes {
		word := "0xffffffff"
		if i >= b.lanes {
			word = "0"
		}
		b.line("DATA masks<>+%d(SB)/4, $%s", 4*i, word)
	}
	b.line("GLOBL masks<>(SB), RODATA|NOPTR, $%d", 8*b.lanes)
}

// emitSum writes the sum over kept register i of all vectors and over their float64
// lanes: pairs of vectors, then halves of a vector.
func (b *builder) emitSum(i int, result string) {
	b.emitAddVectors("VADDPD", i)
	b.emitAddLanes(i, result)
}

// emitSumSingle is emitSum for float32 lanes, which are widened before they are added to
// one another.
func (b *builder) emitSumSingle(i int, result string) {
	b.emitAddVectors("VADDPS", i)
	total, upper := b.keptOf(0, i), b.isa.vector(0)
	if b.masks {
		b.op("VEXTRACTF64X4", "$1", total, b.halfOf(upper))
	} else {
		b.op("VEXTRACTF128", "$1", total, b.halfOf(upper))
	}
	b.op("VCVTPS2PD", b.halfOf(upper), upper)
	b.op("VCVTPS2PD", b.halfOf(total), total)
	b.op("VADDPD", upper, total, total)
	b.emitAddLanes(i, result)
}

// emitAddVectors adds kept register i of all vectors into that of the first.
func (b *builder) emitAddVectors(add string, i int) {
	for distance := 1; distance < b.unroll; distance *= 2 {
		for v := 0; v+distance < b.unroll; v += 2 * distance {
			b.op(add, b.keptOf(v+distance, i), b.keptOf(v, i), b.keptOf(v, i))
		}
	}
}

// emitAddLanes writes the sum of the float64 lanes of kept register i.
func (b *builder) emitAddLanes(i int, result string) {
	total := b.keptOf(0, i)
	x, y, scratch := "X"+total[1:], "Y"+total[1:], "0"
	if b.masks {
		b.op("VEXTRACTF64X4", "$1", total, "Y"+scratch)
		b.op("VADDPD", "Y"+scratch, y, y)
	}
	b.op("VEXTRACTF128", "$1", y, "X"+scratch)
	b.op("VADDPD", "X"+scratch, x, x)
	b.op("VUNPCKHPD", x, x, "X"+scratch)
	b.op("VADDSD", "X"+scratch, x, x)
	b.op("VMOVSD", x, b.argument(result))
}

// emitMax is emitSum for the largest of the float32 lanes.
func (b *builder) emitMax(i int, result string) {
	total := b.keptOf(0, i)
	for v := 1; v < b.unroll; v++ {
		b.op("VMAXPS", total, b.keptOf(v, i), total)
	}
	x, y, scratch := "X"+total[1:], "Y"+total[1:], "0"
	if b.masks {
		b.op("VEXTRACTF64X4", "$1", total, "Y"+scratch)
		b.op("VMAXPS", "Y"+scratch, y, y)
	}
	b.op("VEXTRACTF128", "$1", y, "X"+scratch)
	b.op("VMAXPS", "X"+scratch, x, x)
	b.op("VPERMILPS", "$0x4e", x, "X"+scratch)
	b.op("VMAXPS", "X"+scratch, x, x)
	b.op("VPERMILPS", "$0xb1", x, "X"+scratch)
	b.op("VMAXPS", "X"+scratch, x, x)
	b.op("VMOVSS", x, b.argument(result))
}
