package main

// With m = exp(2x) - 1, tanh(x) = m/(m+2), which keeps its digits near zero, and its derivative is
// 4(m+1)/(m+2)^2.

// tanhRatio computes m = 2^x - 1. All registers change. It differs from exp2 in
// the last addition: if the nearest integer is 0, m is the polynomial without the 1.
const tanhRatio = `tanhRatio x, t, m, square, odd
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
