package main

// With m = exp(2x) - 1, tanh(x) = m/(m+2), which keeps its digits near zero, and its derivative is
// 4(m+1)/(m+2)^2. Everything is computed in float64 lanes and rounded once. The number rate is 2
// tau log2(e).
const tanhConstants = exp2Constants + "tanhLow tanhHigh two half"

var tanhRoutines = []routine{
	{
		signature: "SoftCap(y, slope, z []T, cap, rate float64)",
		doc:       "y = cap * tanh(z / cap) and slope = 1 - tanh(z / cap)^2, rate being 2 log2(e) / cap.",
		wide:      true, unroll: 2, scratch: "r slope m square odd", constants: tanhConstants,
		work: `
			tanhRatio r, slope, m, square, odd
			tanhSlope m, r, slope
			store slope, slope
			VMULPD half, r, r
			VMULPD r, m, m
			VMULPD cap, m, m
			store m, y // last: see softCap in package kernel
		`,
	},
	{
		signature: "TanhGates(c, z, scale, static []T, rate float64)",
		doc:       "c = static + scale * tanh(tau * z), rate being 2 tau log2(e).",
		wide:      true, unroll: 2, scratch: "t static m square odd", constants: tanhConstants,
		work: `
			tanhRatio t, static, m, square, odd
			VADDPD two, m, t
			VDIVPD t, m, m
			load scale, t
			load static, static
			VFMADD213PD static, t, m
			store m, c
		`,
	},
	{
		signature: "TanhGatesGradient(dz, dscale, dc, z, scale []T, tau, rate float64)",
		doc:       "dz = dc * scale * tanh'(tau * z) * tau and dscale = dscale + dc * tanh(tau * z), rate being 2 tau log2(e).",
		wide:      true, unroll: 2, scratch: "r slope m dc other", constants: tanhConstants,
		work: `
			tanhRatio r, slope, m, dc, other
			tanhSlope m, r, slope
			VMULPD tau, slope, slope
			VMULPD r, m, m // 2 tanh
			load dc, dc
			load scale, other
			VMULPD other, slope, slope
			VMULPD dc, slope, slope
			store slope, dz
			VMULPD dc, m, m
			load dscale, other
			VFMADD231PD half@r, m, other
			store other, dscale
		`,
	},
}

// tanhSlope computes r = 2/(m+2) and slope = (m+1) r^2.
const tanhSlope = `tanhSlope m, r, slope
	VADDPD two, m, slope
	VMOVUPD two, r
	VDIVPD slope, r, r
	VADDPD one, m, slope
	VMULPD r, slope, slope
	VMULPD r, slope, slope
`

// tanhRatio loads z and computes m = 2^(rate z) - 1. All registers change. It differs from exp2 in
// the last addition: if the nearest integer is 0, m is the polynomial without the 1.
const tanhRatio = `tanhRatio x, t, m, square, odd
	load z, x
	VMULPD rate, x, x
	VMAXPD x, tanhLow@t, x
	VMINPD x, tanhHigh@t, x
	exp2Powers x, t, m, square, odd
	VFMADD213PD exp2c1, square, odd
	VFMADD231PD x, m, odd
	VMULPD x, odd, odd // 2^f - 1
	VPSLLQ $52, t, t
	VPADDQ one, t, t // 2^n
	VSUBPD one, t, m
	VFMADD231PD t, odd, m
`
