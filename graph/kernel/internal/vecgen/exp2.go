package main

// exp2Constants are the constants that exp2 uses.
const exp2Constants = "one exp2round exp2c1 exp2c2 exp2c3 exp2c4 exp2c5 exp2c6 exp2c7 "

// exp2 computes result = 2^x in float64 lanes, to a relative 1e-10, for |x| <= 1000; NaN gives NaN.
// x = n + f with n the nearest integer, which adding exp2round leaves in the low bits of t. 2^f is
// a polynomial; n is added to its exponent. Odd and even powers are summed separately, so that each
// operation waits for fewer others. All registers change.
const exp2 = `exp2 x, t, result, square, odd
	exp2Powers x, t, result, square, odd
	VFMADD213PD exp2c1, square, odd
	VFMADD213PD one, square, result
	VFMADD231PD x, odd, result
	VPSLLQ $52, t, t
	VPADDQ t, result, result
`

// exp2Powers leaves f in x, n in t, and the sums for the even and odd powers down to the second and
// the third.
const exp2Powers = `exp2Powers x, t, result, square, odd
	VMOVUPD exp2round, result
	VADDPD result, x, t
	VSUBPD result, t, result
	VSUBPD result, x, x
	VMULPD x, x, square
	VMOVUPD exp2c7, odd
	VMOVUPD exp2c6, result
	VFMADD213PD exp2c5, square, odd
	VFMADD213PD exp2c4, square, result
	VFMADD213PD exp2c3, square, odd
	VFMADD213PD exp2c2, square, result
`
