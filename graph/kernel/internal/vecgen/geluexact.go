package main

import "slices"

// The exact GELU uses the fit in package kernel's normalTail: with z = |x| up to 15, Phi(-z) =
// exp(-z^2/2) t P(t), t = 1/(1 + 0.3 z).
var geluExactRoutines = []routine{
	{
		name:   "GeluExact",
		doc:    "the exact GELU, y = gelu(x); see geluExact.",
		slices: singles("y", "x"), wide: true, unroll: 1, scratch: 7, constants: normalTailConstants,
		work: func(b *builder) {
			z, tail, x, zero := b.r(0), b.r(1), b.r(4), b.r(5)
			b.normalTail()
			b.loadWidened("x", x)
			b.zero(zero)
			b.Op("VMAXPD", x, zero, x)
			b.Op("VFNMADD231PD", tail, z, x)
			b.storeNarrowed(x, "y")
		},
	},
	{
		name:   "GeluExactGradient",
		doc:    "the gradient of the exact GELU, dx = dy gelu'(x); see geluExactGradient.",
		slices: singles("dx", "dy", "x"), wide: true, unroll: 1, scratch: 7,
		constants: slices.Concat(normalTailConstants, []string{"half", "bellScale"}),
		work: func(b *builder) {
			z, tail, bell, phi, sign := b.r(0), b.r(1), b.r(3), b.r(4), b.r(6)
			b.normalTail()
			b.Op("VMULPD", bell, z, z)
			b.Op("VMULPD", b.c("bellScale"), z, z)
			b.or(sign, z) // x exp(-x^2/2) / sqrt(2 pi)
			b.or(sign, tail)
			b.Op("VMOVUPD", b.c("half"), phi)
			b.or(sign, phi)
			b.Op("VADDPD", b.c("half"), phi, phi) // 1 or 0
			b.Op("VSUBPD", tail, phi, phi)
			b.Op("VADDPD", z, phi, phi)
			b.loadWidened("dy", z)
			b.Op("VMULPD", z, phi, phi)
			b.storeNarrowed(phi, "dx")
		},
	},
}

var normalTailConstants = slices.Concat(exp2Constants, []string{"signBit", "geluHigh", "bellExponent", "tailStep",
	"tail0", "tail1", "tail2", "tail3", "tail4", "tail5", "tail6", "tail7", "tail8", "tail9"})

// normalTail loads x and leaves z in working register 0, Phi(-z) in 1, exp(-z^2/2) in 3
// and the sign bit of x in 6.
func (b *builder) normalTail() {
	z, p, t, bell, square, odd, sign := b.r(0), b.r(1), b.r(2), b.r(3), b.r(4), b.r(5), b.r(6)
	b.loadWidened("x", z)
	b.bits("VPAND", b.c("signBit"), z, sign)
	b.bits("VPXOR", sign, z, z)
	b.atMost(z, "geluHigh", t)
	b.Op("VMULPD", z, z, p)
	b.Op("VMULPD", b.c("bellExponent"), p, p)
	b.exp2(p, t, bell, square, odd)
	b.Op("VMOVUPD", b.c("tailStep"), p)
	b.Op("VFMADD213PD", b.c("one"), z, p)
	b.Op("VMOVUPD", b.c("one"), t)
	b.Op("VDIVPD", p, t, t)
	b.Op("VMULPD", t, t, square)
	b.Op("VMOVUPD", b.c("tail9"), odd)
	b.Op("VMOVUPD", b.c("tail8"), p)
	for _, c := range [][2]string{{"tail7", "tail6"}, {"tail5", "tail4"}, {"tail3", "tail2"}, {"tail1", "tail0"}} {
		b.Op("VFMADD213PD", b.c(c[0]), square, odd)
		b.Op("VFMADD213PD", b.c(c[1]), square, p)
	}
	b.Op("VFMADD231PD", t, odd, p)
	b.Op("VMULPD", t, p, p)
	b.Op("VMULPD", bell, p, p)
}

// or computes x = x | sign.
func (b *builder) or(sign, x string) { b.bits("VPOR", sign, x, x) }

// bits writes a bitwise instruction; in AVX-512F its name includes the size of a lane.
func (b *builder) bits(name string, operands ...string) {
	if b.Masks {
		name += "Q"
	}
	b.Op(name, operands...)
}
