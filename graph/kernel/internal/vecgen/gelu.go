package main

import "slices"

// With E = exp(-2u), u = sqrt(2/pi) (x + 0.044715 x^3), GELU is x/(1 + E).
// -2u log2(e) is x (geluA + geluB x^2).
var geluRoutines = []routine{
	{
		name:   "Gelu",
		doc:    "the tanh form of GELU, y = gelu(x); see geluTanh.",
		slices: singles("y", "x"), wide: true, unroll: 2, scratch: 6,
		constants: slices.Concat(exp2Constants, []string{"geluLow", "geluLeast", "geluA", "geluB"}),
		work: func(b *builder) {
			x, e, t, p := b.r(0), b.r(1), b.r(2), b.r(3)
			b.loadWidened("x", x)
			b.atLeast(x, "geluLow", t)
			b.geluExponent(x, e, t)
			b.atLeast(e, "geluLeast", t)
			b.exp2(e, t, p, b.r(4), b.r(5))
			b.Op("VADDPD", b.c("one"), p, p)
			b.Op("VDIVPD", p, x, x)
			b.storeNarrowed(x, "y")
		},
	},
	{
		// With s = 1/(1 + E) the derivative is s + x s (1-s) 2u' = s (1 - x (E s) (-2u')).
		name:   "GeluGradient",
		doc:    "the gradient of the tanh form of GELU, dx = dy gelu'(x); see geluTanhGradient.",
		slices: singles("dx", "dy", "x"), wide: true, unroll: 2, scratch: 6,
		constants: slices.Concat(exp2Constants, []string{"geluLow", "geluHigh", "geluA", "geluB", "geluSlope", "geluSlope2"}),
		work: func(b *builder) {
			x, e, t, p, s := b.r(0), b.r(1), b.r(2), b.r(3), b.r(4)
			b.loadWidened("x", x)
			b.atLeast(x, "geluLow", t)
			b.atMost(x, "geluHigh", t)
			b.geluExponent(x, e, t)
			b.exp2(e, t, p, s, b.r(5))
			b.Op("VMULPD", x, x, e)
			b.Op("VFMADD213PD", b.c("geluSlope"), b.inRegister("geluSlope2", t), e)
			b.Op("VMULPD", x, e, e) // x (-2u')
			b.Op("VADDPD", b.c("one"), p, x)
			b.Op("VMOVUPD", b.c("one"), s)
			b.Op("VDIVPD", x, s, s)
			b.Op("VMULPD", s, p, p)
			b.Op("VFNMADD213PD", b.c("one"), p, e)
			b.Op("VMULPD", s, e, e)
			b.loadWidened("dy", x)
			b.Op("VMULPD", x, e, e)
			b.storeNarrowed(e, "dx")
		},
	},
}

// geluExponent computes e = x (geluA + geluB x^2).
func (b *builder) geluExponent(x, e, t string) {
	b.Op("VMULPD", x, x, e)
	b.Op("VFMADD213PD", b.c("geluA"), b.inRegister("geluB", t), e)
	b.Op("VMULPD", x, e, e)
}
