package main

// With E = exp(-2u), u = sqrt(2/pi) (x + 0.044715 x^3), GELU is x/(1 + E).
// -2u log2(e) is x (geluA + geluB x^2).
var geluRoutines = []routine{
	{
		signature: "Gelu(y, x []T)",
		chooser:   "geluTanh",
		doc:       "the tanh form of GELU, y = gelu(x); see geluTanhPortable.",
		wide:      true, unroll: 2, scratch: "x e t p square odd",
		constants: exp2Constants + "geluLow geluLeast geluA geluB",
		work: `
			load x, x
			VMAXPD x, geluLow@t, x
			geluExponent x, e, t
			VMAXPD e, geluLeast@t, e
			exp2 e, t, p, square, odd
			VADDPD one, p, p
			VDIVPD p, x, x
			store x, y
		`,
	},
	{
		// With s = 1/(1 + E) the derivative is s + x s (1-s) 2u' = s (1 - x (E s) (-2u')).
		signature: "GeluGradient(dx, dy, x []T)",
		chooser:   "geluTanhGradient",
		doc:       "the gradient of the tanh form of GELU, dx = dy gelu'(x); see geluTanhGradientPortable.",
		wide:      true, unroll: 2, scratch: "x e t p s odd",
		constants: exp2Constants + "geluLow geluHigh geluA geluB geluSlope geluSlope2",
		work: `
			load x, x
			VMAXPD x, geluLow@t, x
			VMINPD x, geluHigh@t, x
			geluExponent x, e, t
			exp2 e, t, p, s, odd
			VMULPD x, x, e
			VFMADD213PD geluSlope, geluSlope2@t, e
			VMULPD x, e, e // x (-2u')
			VADDPD one, p, x
			VMOVUPD one, s
			VDIVPD x, s, s
			VMULPD s, p, p
			VFNMADD213PD one, p, e
			VMULPD s, e, e
			load dy, x
			VMULPD x, e, e
			store e, dx
		`,
	},
}

// geluExponent computes e = x (geluA + geluB x^2).
const geluExponent = `geluExponent x, e, t
	VMULPD x, x, e
	VFMADD213PD geluA, geluB@t, e
	VMULPD x, e, e
`
