package main

// exp2Constants are the constants that exp2 uses.
var exp2Constants = []string{"one", "exp2round", "exp2c1", "exp2c2", "exp2c3", "exp2c4", "exp2c5", "exp2c6", "exp2c7"}

// exp2 computes result = 2^x in float64 lanes, to a relative 1e-10, for |x| <= 1000; NaN gives NaN.
// x = n + f with n the nearest integer, which adding exp2round leaves in the low bits of t. 2^f is
// a polynomial; n is added to its exponent. Odd and even powers are summed separately, so that each
// operation waits for fewer others. All registers change.
func (b *builder) exp2(x, t, result, square, odd string) {
	b.exp2Powers(x, t, result, square, odd)
	b.Op("VFMADD213PD", b.c("exp2c1"), square, odd)
	b.Op("VFMADD213PD", b.c("one"), square, result)
	b.Op("VFMADD231PD", x, odd, result)
	b.Op("VPSLLQ", "$52", t, t)
	b.Op("VPADDQ", t, result, result)
}

// exp2Powers leaves f in x, n in t, and the sums for the even and odd powers down to the second and
// the third.
func (b *builder) exp2Powers(x, t, result, square, odd string) {
	b.Op("VMOVUPD", b.c("exp2round"), result)
	b.Op("VADDPD", result, x, t)
	b.Op("VSUBPD", result, t, result)
	b.Op("VSUBPD", result, x, x)
	b.Op("VMULPD", x, x, square)
	b.Op("VMOVUPD", b.c("exp2c7"), odd)
	b.Op("VMOVUPD", b.c("exp2c6"), result)
	for _, c := range [][2]string{{"exp2c5", "exp2c4"}, {"exp2c3", "exp2c2"}} {
		b.Op("VFMADD213PD", b.c(c[0]), square, odd)
		b.Op("VFMADD213PD", b.c(c[1]), square, result)
	}
}

// atLeast and atMost limit x to a constant; NaN stays NaN.
func (b *builder) atLeast(x, constant, t string) {
	b.Op("VMAXPD", x, b.inRegister(constant, t), x)
}

func (b *builder) atMost(x, constant, t string) {
	b.Op("VMINPD", x, b.inRegister(constant, t), x)
}
