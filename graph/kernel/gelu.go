package kernel

import "math"

// The Gaussian error linear unit is x Phi(x) (Hendrycks & Gimpel 2016, arXiv 1606.08415, section
// 2), Phi being the standard normal distribution function. GeluExact evaluates Phi itself; GeluTanh
// is the tanh form in the same section, which GPT-2 uses:
//
//	exact  gelu(x) = x Phi(x) = x/2 erfc(-x/sqrt(2))
//	tanh   gelu(x) = x/2 (1 + tanh(u)),  u = sqrt(2/pi) (x + 0.044715 x^3)
//
// Both are computed in float64 and rounded once. gelu(+Inf) = +Inf, gelu(-Inf) = 0, NaN
// gives NaN. In float32 the error is at most 0.51 units in the last place in the tanh
// form and 0.6 in the exact one; in the derivatives, which cross zero, 0.51 units and
// another 2^-29.

// The loops of float32 call expSplit, which the compiler inlines.
//
// The tanh form is x/(1 + exp(-2u)), and -2u = x (geluLinear + geluCubic x^2). This
// keeps the precision of small results, which 1 + tanh(u) loses.
const (
	geluLinear = -2 * math.Sqrt2 / geluSqrtPi
	geluCubic  = 0.044715 * geluLinear
	geluSqrtPi = 1.77245385090551602729816748334
)

// geluLimit returns an |x| beyond which gelu(x) is 0 or x to the last place of T, in both forms;
// within it the arguments of exp are small enough for expSplit.
func geluLimit[T Float]() float64 {
	if isSingle[T]() {
		return 15
	}
	return 40
}

// clamp limits x to [-limit, limit]; NaN stays NaN.
func clamp(x, limit float64) float64 {
	if x > limit {
		x = limit
	}
	if x < -limit {
		x = -limit
	}
	return x
}

func geluTanhPortable[T Float](y, x []T) {
	y = y[:len(x)]
	limit := geluLimit[T]()
	for i, v := range x {
		value := float64(v)
		c := clamp(value, limit)
		if value < c {
			value = c
		}
		e := geluExponent(c)
		if isSingle[T]() {
			scale, part := expSplit(e)
			e = scale + part
		} else {
			e = math.Exp(e)
		}
		y[i] = T(value / (1 + e))
	}
}

// geluExponent returns -2u.
func geluExponent(x float64) float64 { return x * (geluLinear + geluCubic*x*x) }

// With s = 1/(1 + exp(-2u)), the derivative is s + x s (1-s) 2u'.
func geluTanhGradientPortable[T Float](dx, dy, x []T) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	limit := geluLimit[T]()
	for i, v := range x {
		c := clamp(float64(v), limit)
		e := geluExponent(c)
		if isSingle[T]() {
			scale, part := expSplit(e)
			e = scale + part
		} else {
			e = math.Exp(e)
		}
		s := 1 / (1 + e)
		slope := geluLinear + 3*geluCubic*c*c // -2u'
		dx[i] = T(float64(dy[i]) * (s - c*s*(1-s)*slope))
	}
}

// x Phi(x) is max(x, 0) - |x| Phi(-|x|), without loss of precision on either side.
func geluExactPortable[T Float](y, x []T) {
	y = y[:len(x)]
	limit := geluLimit[T]()
	for i, v := range x {
		value := float64(v)
		c := clamp(value, limit)
		if value < c {
			value = c
		}
		tail, _ := normalTail[T](math.Abs(c))
		y[i] = T(value/2 + math.Abs(value)/2 - math.Abs(c)*tail)
	}
}

// The derivative is Phi(x) + x phi(x), where phi is the normal density; Phi(x) is Phi(-|x|) or 1
// minus that.
func geluExactGradientPortable[T Float](dx, dy, x []T) {
	dx, dy = dx[:len(x)], dy[:len(x)]
	limit := geluLimit[T]()
	for i, v := range x {
		c := clamp(float64(v), limit)
		tail, bell := normalTail[T](math.Abs(c))
		phi := math.Copysign(0.5, c) + 0.5 - math.Copysign(tail, c)
		dx[i] = T(float64(dy[i]) * (phi + c*bell/(math.Sqrt2*geluSqrtPi)))
	}
}

// normalTail returns Phi(-z) and exp(-z^2/2) for z >= 0, in float32's precision (a
// relative 4e-9, up to z = 15) or float64's.
//
// For float32 it is Phi(-z) = exp(-z^2/2) t P(t) with t = 1/(1 + 0.3 z). P is our fit of degree 9
// on 0 <= z <= 15: least squares in Chebyshev polynomials, reweighted to make the largest relative
// error as small as possible.
func normalTail[T Float](z float64) (tail, bell float64) {
	if !isSingle[T]() {
		return math.Erfc(z/math.Sqrt2) / 2, math.Exp(-z * z / 2)
	}
	scale, part := expSplit(-z * z / 2)
	bell = scale + part
	t := 1 / (1 + 0.3*z)
	t2 := t * t
	low := 0.119686716826 + 0.119571314337*t + (0.110239374731+0.0783720870083*t)*t2
	middle := 0.0962053301428 - 0.0795099466202*t + (0.191884259291-0.228285531336*t)*t2
	high := 0.112465115351 - 0.0206287214638*t
	t4 := t2 * t2
	return bell * t * (low + (middle+high*t4)*t4), bell
}
