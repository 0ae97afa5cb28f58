package main

import "slices"

// With m = exp(2x) - 1, tanh(x) = m/(m+2), which keeps its digits near zero, and its derivative is
// 4(m+1)/(m+2)^2. Everything is computed in float64 lanes and rounded once. The number rate is 2
// tau log2(e).
var tanhConstants = slices.Concat(exp2Constants, []string{"tanhLow", "tanhHigh", "two", "half"})

var tanhRoutines = []routine{
	{
		name:   "SoftCap",
		doc:    "y = cap * tanh(z / cap) and slope = 1 - tanh(z / cap)^2, rate being 2 log2(e) / cap.",
		slices: singles("y", "slope", "z"), numbers: doubles("cap", "rate"), wide: true, unroll: 2, scratch: 5, constants: tanhConstants,
		work: func(b *builder) {
			m, r, slope := b.tanhRatio(), b.r(0), b.r(1)
			b.tanhSlope(m, r, slope)
			b.storeNarrowed(slope, "slope")
			b.Op("VMULPD", b.c("half"), r, r)
			b.Op("VMULPD", r, m, m)
			b.Op("VMULPD", b.number("cap"), m, m)
			b.storeNarrowed(m, "y") // last: see softCap in package kernel
		},
	},
	{
		name:   "TanhGates",
		doc:    "c = static + scale * tanh(tau * z), rate being 2 tau log2(e).",
		slices: singles("c", "z", "scale", "static"), numbers: doubles("rate"), wide: true, unroll: 2, scratch: 5, constants: tanhConstants,
		work: func(b *builder) {
			m, t := b.tanhRatio(), b.r(0)
			b.Op("VADDPD", b.c("two"), m, t)
			b.Op("VDIVPD", t, m, m)
			b.loadWidened("scale", t)
			b.loadWidened("static", b.r(1))
			b.Op("VFMADD213PD", b.r(1), t, m)
			b.storeNarrowed(m, "c")
		},
	},
	{
		name:   "TanhGatesGradient",
		doc:    "dz = dc * scale * tanh'(tau * z) * tau and dscale = dscale + dc * tanh(tau * z), rate being 2 tau log2(e).",
		slices: singles("dz", "dscale", "dc", "z", "scale"), numbers: doubles("tau", "rate"), wide: true, unroll: 2, scratch: 5, constants: tanhConstants,
		work: func(b *builder) {
			m, r, slope, dc, other := b.tanhRatio(), b.r(0), b.r(1), b.r(3), b.r(4)
			b.tanhSlope(m, r, slope)
			b.Op("VMULPD", b.number("tau"), slope, slope)
			b.Op("VMULPD", r, m, m) // 2 tanh
			b.loadWidened("dc", dc)
			b.loadWidened("scale", other)
			b.Op("VMULPD", other, slope, slope)
			b.Op("VMULPD", dc, slope, slope)
			b.storeNarrowed(slope, "dz")
			b.Op("VMULPD", dc, m, m)
			b.loadWidened("dscale", other)
			b.Op("VFMADD231PD", b.inRegister("half", r), m, other)
			b.storeNarrowed(other, "dscale")
		},
	},
}

// tanhSlope computes r = 2/(m+2) and slope = (m+1) r^2.
func (b *builder) tanhSlope(m, r, slope string) {
	b.Op("VADDPD", b.c("two"), m, slope)
	b.Op("VMOVUPD", b.c("two"), r)
	b.Op("VDIVPD", slope, r, r)
	b.Op("VADDPD", b.c("one"), m, slope)
	b.Op("VMULPD", r, slope, slope)
	b.Op("VMULPD", r, slope, slope)
}

// tanhRatio loads z and returns the register with m = 2^(rate z) - 1, scratch register 2. All five
// scratch registers change. It differs from exp2 in the last addition: if the nearest integer is 0,
// m is the polynomial without the 1.
func (b *builder) tanhRatio() (m string) {
	x, t, result, square, odd := b.r(0), b.r(1), b.r(2), b.r(3), b.r(4)
	b.loadWidened("z", x)
	b.Op("VMULPD", b.number("rate"), x, x)
	b.atLeast(x, "tanhLow", t)
	b.atMost(x, "tanhHigh", t)
	b.exp2Powers(x, t, result, square, odd)
	b.Op("VFMADD213PD", b.c("exp2c1"), square, odd)
	b.Op("VFMADD231PD", x, result, odd)
	b.Op("VMULPD", x, odd, odd) // 2^f - 1
	b.Op("VPSLLQ", "$52", t, t)
	b.Op("VPADDQ", b.c("one"), t, t) // 2^n
	b.Op("VSUBPD", b.c("one"), t, result)
	b.Op("VFMADD231PD", t, odd, result)
	return result
}
