package main

import "slices"

var softmaxRoutines = []routine{
	{
		name:   "Max",
		doc:    "the largest x, -Inf without any; NaN is passed over.",
		slices: singles("x"), results: singles("largest"), unroll: 4, scratch: 2, kept: 1, constants: []string{"minusInf"},
		start: func(b *builder) { b.op("VMOVUPS", b.c("minusInf"), b.k(0)) },
		work: func(b *builder) {
			b.loadOr("x", b.inRegister("minusInf", b.r(1)), b.r(0))
			b.op("VMAXPS", b.k(0), b.r(0), b.k(0))
		},
		finish: func(b *builder) { b.emitMax(0, "largest") },
	},
	{
		name:   "DistancesMax",
		doc:    "x = x - slope * (far - i) for element i, and the largest of the results; NaN is passed over.",
		slices: singles("x"), numbers: singles("slope", "far"), results: singles("largest"), unroll: 1, scratch: 3, kept: 2,
		constants: []string{"minusInf", "count", "lanesSingle"},
		start: func(b *builder) {
			b.op("VMOVUPS", b.c("minusInf"), b.k(0))
			b.op("VSUBPS", b.c("count"), b.number("far"), b.k(1))
		},
		work: func(b *builder) {
			b.loadOr("x", b.inRegister("minusInf", b.r(1)), b.r(0))
			b.op("VMOVAPS", b.k(1), b.r(2))
			b.op("VFNMADD231PS", b.number("slope"), b.r(2), b.r(0))
			b.op("VSUBPS", b.c("lanesSingle"), b.k(1), b.k(1))
			b.op("VMAXPS", b.k(0), b.r(0), b.k(0))
			b.store(b.r(0), "x")
		},
		finish: func(b *builder) { b.emitMax(0, "largest") },
	},
	{
		name:   "Dot",
		doc:    "x . y in float64.",
		slices: singles("x", "y"), results: doubles("sum"), wide: true, unroll: 4, scratch: 2, kept: 1,
		start: func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			b.loadWidened("x", b.r(0))
			b.loadWidened("y", b.r(1))
			b.op("VFMADD231PD", b.r(1), b.r(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSum(0, "sum") },
	},
	{
		name:   "Exp",
		doc:    "x = exp(x - shift), and the sum of the results in float64.",
		slices: singles("x"), numbers: doubles("shift"), results: doubles("sum"), wide: true, unroll: 2, scratch: 5, kept: 1,
		constants: slices.Concat(exp2Constants, expConstants),
		start:     func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			x, t, p := b.r(0), b.r(1), b.r(2)
			b.loadWidened("x", x)
			b.op("VSUBPD", b.number("shift"), x, x)
			b.exp(x, t, p)
			b.storeNarrowed(p, "x")
			b.op("VCVTPS2PD", b.halfOf(p), p)
			b.clearRest(p)
			b.op("VADDPD", p, b.k(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSum(0, "sum") },
	},
	{
		name:   "SoftmaxGradient",
		doc:    "p = exp(p - slope * (far - i) - lse) for element i, and dp = p * (dp - delta).",
		slices: singles("prob", "dprob"), numbers: doubles("slope", "far", "lse", "delta"), wide: true, unroll: 1, scratch: 5, kept: 1,
		constants: slices.Concat(exp2Constants, expConstants, []string{"wideCount", "lanesWide"}),
		start:     func(b *builder) { b.op("VSUBPD", b.c("wideCount"), b.number("far"), b.k(0)) },
		work: func(b *builder) {
			x, t, p := b.r(0), b.r(1), b.r(2)
			b.loadWidened("prob", x)
			b.op("VFNMADD231PD", b.number("slope"), b.k(0), x)
			b.op("VSUBPD", b.c("lanesWide"), b.k(0), b.k(0))
			b.op("VSUBPD", b.number("lse"), x, x)
			b.exp(x, t, p)
			b.loadWidened("dprob", x)
			b.op("VSUBPD", b.number("delta"), x, x)
			b.op("VMULPD", p, x, x)
			b.storeNarrowed(p, "prob")
			b.storeNarrowed(x, "dprob")
		},
	},
}

var expConstants = []string{"expLow", "expHigh", "log2e"}

// exp computes p = exp(x), in the range where that is a float32; working registers 3 and
// 4 change.
func (b *builder) exp(x, t, p string) {
	b.atLeast(x, "expLow", t)
	b.atMost(x, "expHigh", t)
	b.op("VMULPD", b.c("log2e"), x, x)
	b.exp2(x, t, p, b.r(3), b.r(4))
}
