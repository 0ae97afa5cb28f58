package main

// The exact GELU uses the fit in package kernel's normalTail: with z = |x| up to 15, Phi(-z) =
// exp(-z^2/2) t P(t), t = 1/(1 + 0.3 z).
var geluExactRoutines = []routine{
	{
		signature: "GeluExact(y, x []T)",
		chooser:   "geluExact",
		doc:       "the exact GELU, y = gelu(x); see geluExactPortable.",
		wide:      true, unroll: 1, scratch: "z tail t bell x odd sign", constants: normalTailConstants,
		work: `
			normalTail z, tail, t, bell, x, odd, sign
			load x, x
			zero odd
			VMAXPD x, odd, x
			VFNMADD231PD tail, z, x
			store x, y
		`,
	},
	{
		signature: "GeluExactGradient(dx, dy, x []T)",
		chooser:   "geluExactGradient",
		doc:       "the gradient of the exact GELU, dx = dy gelu'(x); see geluExactGradientPortable.",
		wide:      true, unroll: 1, scratch: "z tail t bell phi odd sign",
		constants: normalTailConstants + " half bellScale",
		work: `
			normalTail z, tail, t, bell, phi, odd, sign
			VMULPD bell, z, z
			VMULPD bellScale, z, z
			VPOR sign, z, z // x exp(-x^2/2) / sqrt(2 pi)
			VPOR sign, tail, tail
			VMOVUPD half, phi
			VPOR sign, phi, phi
			VADDPD half, phi, phi // 1 or 0
			VSUBPD tail, phi, phi
			VADDPD z, phi, phi
			load dy, z
			VMULPD z, phi, phi
			store phi, dx
		`,
	},
}

const normalTailConstants = exp2Constants + "signBit geluHigh bellExponent tailStep " +
	"tail0 tail1 tail2 tail3 tail4 tail5 tail6 tail7 tail8 tail9"

// normalTail loads x and leaves z in the first register, Phi(-z) in tail, exp(-z^2/2) in bell and
// the sign bit of x in sign.
const normalTail = `normalTail z, tail, t, bell, square, odd, sign
	load x, z
	VPAND signBit, z, sign
	VPXOR sign, z, z
	VMINPD z, geluHigh@t, z
	VMULPD z, z, tail
	VMULPD bellExponent, tail, tail
	exp2 tail, t, bell, square, odd
	VMOVUPD tailStep, tail
	VFMADD213PD one, z, tail
	VMOVUPD one, t
	VDIVPD tail, t, t
	VMULPD t, t, square
	VMOVUPD tail9, odd
	VMOVUPD tail8, tail
	VFMADD213PD tail7, square, odd
	VFMADD213PD tail6, square, tail
	VFMADD213PD tail5, square, odd
	VFMADD213PD tail4, square, tail
	VFMADD213PD tail3, square, odd
	VFMADD213PD tail2, square, tail
	VFMADD213PD tail1, square, odd
	VFMADD213PD tail0, square, tail
	VFMADD231PD t, odd, tail
	VMULPD t, tail, tail
	VMULPD bell, tail, tail
`
