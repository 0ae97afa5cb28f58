package main

import "slices"

var softmaxRoutines = []routine{
	{
		name:   "Max",
		doc:    "the largest x, -Inf without any; NaN is passed over.",
		slices: singles("x"), results: singles("largest"), unroll: 4, scratch: 2, kept: 1, constants: []string{"minusInf"},
		start: func(b *builder) { b.Op("VMOVUPS", b.c("minusInf"), b.k(0)) },
		work: func(b *builder) {
			b.loadOr("x", b.inRegister("minusInf", b.r(1)), b.r(0))
			b.Op("VMAXPS", b.k(0), b.r(0), b.k(0))
		},
		finish: func(b *builder) { b.emitMax(0, "largest") },
	},
	{
		name:   "DistancesMax",
		doc:    "x = x - slope * (far - i) for element i, and the largest of the results; NaN is passed over.",
		slices: singles("x"), numbers: singles("slope", "far"), results: singles("largest"), unroll: 1, scratch: 3, kept: 2,
		constants: []string{"minusInf", "count", "lanesSingle"},
		start: func(b *builder) {
			b.Op("VMOVUPS", b.c("minusInf"), b.k(0))
			b.Op("VSUBPS", b.c("count"), b.number("far"), b.k(1))
		},
		work: func(b *builder) {
			b.loadOr("x", b.inRegister("minusInf", b.r(1)), b.r(0))
			b.Op("VMOVAPS", b.k(1), b.r(2))
			b.Op("VFNMADD231PS", b.number("slope"), b.r(2), b.r(0))
			b.Op("VSUBPS", b.c("lanesSingle"), b.k(1), b.k(1))
			b.Op("VMAXPS", b.k(0), b.r(0), b.k(0))
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
			b.Op("VFMADD231PD", b.r(1), b.r(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSum(0, "sum") },
	},
	{
		name:   "TwoDots",
		doc:    "x . z and y . z in float64.",
		slices: singles("z", "x", "y"), results: doubles("first", "second"), wide: true, unroll: 2, scratch: 2, kept: 2,
		start: func(b *builder) { b.zero(b.k(0)); b.zero(b.k(1)) },
		work: func(b *builder) {
			b.loadWidened("z", b.r(0))
			b.loadWidened("x", b.r(1))
			b.Op("VFMADD231PD", b.r(1), b.r(0), b.k(0))
			b.loadWidened("y", b.r(1))
			b.Op("VFMADD231PD", b.r(1), b.r(0), b.k(1))
		},
		finish: func(b *builder) { b.emitSum(0, "first"); b.emitSum(1, "second") },
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
			b.Op("VSUBPD", b.number("shift"), x, x)
			b.exp(x, t, p)
			b.storeNarrowed(p, "x")
			b.Op("VCVTPS2PD", b.Half(p), p)
			b.clearRest(p)
			b.Op("VADDPD", p, b.k(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSum(0, "sum") },
	},
	{
		name:   "ExpSingle",
		doc:    "x = exp(x - shift), see expSingle, and the sum of the results.",
		slices: singles("x"), numbers: singles("shift"), results: doubles("sum"), unroll: 2, scratch: 4, kept: 1,
		constants: expSingleConstants,
		start:     func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			x, p := b.r(0), b.r(3)
			b.load("x", x)
			b.Op("VSUBPS", b.number("shift"), x, x)
			b.expSingle(x, b.r(1), b.r(2), p)
			b.store(p, "x")
			b.clearRest(p)
			b.Op("VADDPS", p, b.k(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSumSingle(0, "sum") },
	},
	{
		name:   "SoftmaxGradient",
		doc:    "p = exp(p - slope * (far - i) - lse) for element i, see expSingle, and dp = p * (dp - delta).",
		slices: singles("prob", "dprob"), numbers: singles("slope", "far", "lse", "delta"), unroll: 1, scratch: 4, kept: 1,
		constants: slices.Concat(expSingleConstants, []string{"count", "lanesSingle"}),
		start:     func(b *builder) { b.Op("VSUBPS", b.c("count"), b.number("far"), b.k(0)) },
		work: func(b *builder) {
			x, p := b.r(0), b.r(3)
			b.load("prob", x)
			b.Op("VFNMADD231PS", b.number("slope"), b.k(0), x)
			b.Op("VSUBPS", b.c("lanesSingle"), b.k(0), b.k(0))
			b.Op("VSUBPS", b.number("lse"), x, x)
			b.expSingle(x, b.r(1), b.r(2), p)
			b.store(p, "prob")
			b.load("dprob", x)
			b.Op("VSUBPS", b.number("delta"), x, x)
			b.Op("VMULPS", p, x, x)
			b.store(x, "dprob")
		},
	},
}

var expConstants = []string{"expLow", "expHigh", "log2e"}

// exp computes p = exp(x), for x whose exp is a float32; working registers 3 and 4 change.
func (b *builder) exp(x, t, p string) {
	b.atLeast(x, "expLow", t)
	b.atMost(x, "expHigh", t)
	b.Op("VMULPD", b.c("log2e"), x, x)
	b.exp2(x, t, p, b.r(3), b.r(4))
}

var expSingleConstants = []string{"expSingleLow", "expSingleTop", "log2eHigh", "log2eLow", "exp2bias",
	"oneSingle", "exp2s1", "exp2s2", "exp2s3", "exp2s4", "exp2s5", "exp2s6"}

// expSingle computes p = exp(x) in float32 lanes, to 1.1 units in the last place. Results below
// 2^-126.5 may be 0, those above 2^127.5 infinite; NaN stays NaN. As in exp2, 2^x = 2^n 2^f, but
// adding exp2bias leaves n + 127 in the low bits of t, which shifted to the exponent give the
// number 2^n, or zero for n = -127. x, t and f change.
func (b *builder) expSingle(x, t, f, p string) {
	b.Op("VMAXPS", x, b.inRegister("expSingleLow", t), x)
	b.Op("VMINPS", x, b.inRegister("expSingleTop", t), x)
	b.expSingleWithin(x, t, f, p)
}

// expSingleWithin computes the same for -88 <= x <= 89.
func (b *builder) expSingleWithin(x, t, f, p string) {
	b.Op("VMOVUPS", b.c("exp2bias"), t)
	b.Op("VFMADD231PS", b.c("log2eHigh"), x, t)
	b.Op("VSUBPS", b.c("exp2bias"), t, f)
	b.Op("VFMSUB231PS", b.c("log2eHigh"), x, f)
	b.Op("VFMADD231PS", b.c("log2eLow"), x, f)
	b.Op("VMOVUPS", b.c("exp2s6"), p)
	for _, c := range []string{"exp2s5", "exp2s4", "exp2s3", "exp2s2", "exp2s1", "oneSingle"} {
		b.Op("VFMADD213PS", b.c(c), f, p)
	}
	b.Op("VPSLLD", "$23", t, t)
	b.Op("VMULPS", t, p, p)
}
