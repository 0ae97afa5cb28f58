package main

import (
	"fmt"
	"strconv"

	"github.com/residua-go/residua/graph/kernel/internal/asm"
)

// The micro-kernels of bfloat16 read pairs of elements along k as one 32-bit element, the even one
// in the lower half. With AVX-512 they need AVX512_BF16, whose VDPBF16PS adds the odd product to a
// float32, then the even one, each by a fused multiply-add, with denormals flushed to zero in
// operands and results. A second form, the only one of AVX2, does the same step by step: it splits
// each pair into two float32, and has the processor flush denormals while it sums. Intel's
// processors take four times as long for a VDPBF16PS as for a fused multiply-add, so that the
// second form is faster there.

// splits tells whether the kernel splits pairs.
func (k microkernel) splits() bool { return k.pairs && (k.split || !k.Masks) }

// Where the processor's floating-point states lie on the stack.
const (
	usualState    = "usual-24(SP)"
	flushingState = "flushing-20(SP)"
)

// The vector registers of a kernel that splits pairs: after the accumulators and B's vectors, which
// keep B's even elements, come B's odd elements, then those that free returns.
func (k microkernel) bOdd(v int) string { return k.Vector((k.rows+1)*k.vecs + v) }
func (k microkernel) aEven() string     { return k.free(0) }
func (k microkernel) aOdd() string      { return k.free(1) }
func (k microkernel) upper() string     { return k.free(2) } // the mask of the upper halves

// emitSplitArguments prepares the mask of upper halves and the two floating-point states.
func (k microkernel) emitSplitArguments(w *asm.Writer) {
	ones := "VPCMPEQD upper, upper, upper"
	if k.Masks {
		ones = "VPTERNLOGD $0xff, upper, upper, upper"
	}
	w.List(ones+`
		VPSLLD $16, upper, upper
		STMXCSR usual-24(SP)
		MOVL usual-24(SP), CX
		ORL $0x8040, CX // flush results to zero; take denormal operands as zero
		MOVL CX, flushing-20(SP)
	`, asm.Names{"upper": k.upper()})
}

// and returns the name of the bitwise and.
func (k microkernel) and() string {
	if k.Masks {
		return "VPANDD"
	}
	return "VPAND"
}

func (k microkernel) emitSplitB(w *asm.Writer) {
	for v := range k.vecs {
		w.Op(k.and(), k.upper(), k.b(v), k.bOdd(v))
		w.Op("VPSLLD", "$16", k.b(v), k.b(v))
	}
}

func (k microkernel) emitSplitProducts(w *asm.Writer, r int) {
	w.List(`
		VBROADCASTSS a, even
		and upper, even, odd
		VPSLLD $16, even, even
	`, asm.Names{"and": k.and(), "a": k.a(r), "even": k.aEven(), "odd": k.aOdd(), "upper": k.upper()})
	for v := range k.vecs {
		w.Op("VFMADD231PS", k.bOdd(v), k.aOdd(), k.acc(r, v))
	}
	for v := range k.vecs {
		w.Op("VFMADD231PS", k.b(v), k.aEven(), k.acc(r, v))
	}
}

// dotPairs writes VDPBF16PS, which Go's assembler does not know. The instruction multiplies the
// pairs in the register from by those in the register by, and adds the products to the register to.
func dotPairs(w *asm.Writer, from, by, to string) {
	prefix, rest := encodeDotPairs(number(from), number(by), number(to))
	w.Line("\tLONG $%#08x; WORD $%#04x // VDPBF16PS %s, %s, %s", prefix, rest, from, by, to)
}

// encodeDotPairs encodes EVEX.512.F3.0F38.W0 52 /r (Intel's manual, volume 2, sections 2.7 and 5.1)
// for registers Z0 to Z31: the four bytes of the prefix, and opcode and ModR/M, as little-endian
// numbers. The fifth and fourth bits of register numbers are stored inverted, and so is the whole
// number of by.
func encodeDotPairs(from, by, to int) (prefix uint32, rest uint16) {
	const (
		map0F38 = 2
		fixed   = 1 << 2
		pF3     = 2
		long512 = 2 << 5
	)
	inverted := func(n, bit int) int { return ^n >> bit & 1 }
	p0 := inverted(to, 3)<<7 | inverted(from, 4)<<6 | inverted(from, 3)<<5 | inverted(to, 4)<<4 | map0F38
	p1 := (^by&15)<<3 | fixed | pF3
	p2 := long512 | inverted(by, 4)<<3
	modRM := 3<<6 | to&7<<3 | from&7
	return uint32(0x62 | p0<<8 | p1<<16 | p2<<24), uint16(0x52 | modRM<<8)
}

// number returns the number of a vector register.
func number(register string) int {
	n, err := strconv.Atoi(register[1:])
	if err != nil {
		panic(fmt.Sprintf("asmgen: %s is no vector register", register))
	}
	return n
}
