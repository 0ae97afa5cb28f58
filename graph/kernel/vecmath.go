package kernel

import (
	"math"
	"unsafe"
)

// The float32 functions of this file work in float64 and round once at the end. Each power of two
// is divided into 32 steps,
//
//	exp(x) = 2^n 2^(k/32) exp(r ln(2)/32),   32 n + k = round(32 x / ln 2),   |r| <= 1/2
//
// where 2^(k/32) comes from a table and the last factor from a cubic. It is about four
// times faster than math.Exp, and has no branch that depends on the argument.

const (
	expParts   = 32
	expPerUnit = expParts / math.Ln2 // parts of a power of two in one unit of x
	expRound   = 0x1.8p52            // adding it leaves the nearest integer in the low bits

	expLinear    = math.Ln2 / expParts                       // exp(expLinear r) = 1 + expLinear r + ...
	expQuadratic = expLinear * expLinear * (0.5 + expFourth) // ... + expQuadratic r^2 + expCubic r^3
	expCubic     = expLinear * expLinear * expLinear / 6
	// The term in r^4 is left out; on |r| <= 1/2, a term in r^2 makes up for three quarters of it
	// (the Chebyshev fit of r^3 by a line): 3/4 (1/2)^2 expLinear^2 / 4!.
	expFourth = expLinear * expLinear / 128
)

// expTable is 2^(k/32) for k = 0..31.
var expTable = [expParts]float64{
	1, 1.0218971486541166, 1.0442737824274138, 1.0671404006768237,
	1.0905077326652577, 1.1143867425958924, 1.1387886347566916, 1.1637248587775775,
	1.189207115002721, 1.215247359980469, 1.241857812073484, 1.2690509571917332,
	1.2968395546510096, 1.3252366431597413, 1.3542555469368927, 1.383909881963832,
	1.4142135623730951, 1.4451808069770467, 1.4768261459394993, 1.5091644275934228,
	1.5422108254079407, 1.5759808451078865, 1.6104903319492543, 1.6457554781539649,
	1.681792830507429, 1.7186192981224779, 1.7562521603732995, 1.7947090750031072,
	1.8340080864093424, 1.8741676341103, 1.9152065613971474, 1.9571441241754002,
}

// isSingle tells whether T is float32; it is a constant in each instantiation.
func isSingle[T Float]() bool {
	var x T
	return unsafe.Sizeof(x) == 4
}

// expSplit returns exp(x) as scale + part, where scale is 2^(n + k/32). part has a relative error
// of 2e-8, the sum one of 2e-10, for |x| <= 700. Outside that range the results mean nothing; NaN
// gives a NaN part.
func expSplit(x float64) (scale, part float64) {
	z := x * expPerUnit
	n := z + expRound
	r := z - (n - expRound)
	bits := math.Float64bits(n)
	scale = math.Float64frombits(math.Float64bits(expTable[bits%expParts]) + bits/expParts<<52)
	return scale, scale * r * (expLinear + r*(expQuadratic+r*expCubic))
}

// expT returns e^x. In float32 the error is at most 0.51 units in the last place, with subnormal
// results, overflow to +Inf, exp(-Inf) = 0 and NaN as in math.Exp. In float64 it calls math.Exp.
func expT[T Float](x T) T {
	if isSingle[T]() {
		return T(exp32(float32(x)))
	}
	return T(math.Exp(float64(x)))
}

func exp32(x float32) float32 {
	const overflow, underflow = 89, -104
	if x > overflow {
		x = overflow
	}
	if x < underflow {
		x = underflow
	}
	scale, part := expSplit(float64(x))
	return float32(scale + part)
}

// tanhT returns the hyperbolic tangent. In float32 the error is at most 1 unit in the last place,
// also near zero; tanh(+-Inf) = +-1, and the sign of zero is kept. In float64 it calls math.Tanh.
func tanhT[T Float](x T) T {
	if isSingle[T]() {
		return T(tanh32(float32(x)))
	}
	return T(math.Tanh(float64(x)))
}

// tanh32 computes m/(m+2) with m = exp(2x)-1, which keeps its relative precision near zero: there
// the table's factor is 1 and m is the polynomial without a constant term.
func tanh32(x float32) float32 {
	const saturated = 10 // 1 - tanh(10) is less than a fourteenth of a unit in the last place
	if x == 0 {
		return x
	}
	if x > saturated {
		x = saturated
	}
	if x < -saturated {
		x = -saturated
	}
	scale, part := expSplit(2 * float64(x))
	m := part + (scale - 1)
	return float32(m / (m + 2))
}

// tanhSlope returns tanh(x) and its derivative, in float64's precision.
func tanhSlope(x float64) (tanh, slope float64) {
	tanh = math.Tanh(x)
	return tanh, 1 - tanh*tanh
}

// tanhParts returns tanh(x), 1 - tanh(x) and 1 + tanh(x), see tanhT.
func tanhParts[T Float](x T) (tanh, below, above T) {
	tanh = tanhT(x)
	return tanh, 1 - tanh, 1 + tanh
}
