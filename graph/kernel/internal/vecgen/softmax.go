package main

var softmaxRoutines = []routine{
	distancesMax,
	overRows(distancesMax, "far", false),
	expSingleSum,
	overRows(expSingleSum, "shift", true),
	softmaxGradient,
	overRows(softmaxGradient, "far shift delta", true),
	{
		signature: "Max(x []T) (largest T)",
		chooser:   "softmaxMax",
		doc:       "the largest x, -Inf without any; NaN is passed over.",
		unroll:    4, scratch: "x none", constants: "minusInf",
		work: `
			loadOr x, minusInf@none, x
			VMAXPS largest, x, largest
		`,
	},
	{
		signature: "Dot(x, y []T) (sum float64)",
		chooser:   "dotProduct",
		doc:       "x . y in float64.",
		wide:      true, unroll: 4, scratch: "x y",
		work: `
			load x, x
			load y, y
			VFMADD231PD y, x, sum
		`,
	},
	{
		signature: "TwoDots(z, x, y []T) (first, second float64)",
		chooser:   "dotProducts",
		doc:       "x . z and y . z in float64.",
		wide:      true, unroll: 2, scratch: "z t",
		work: `
			load z, z
			load x, t
			VFMADD231PD t, z, first
			load y, t
			VFMADD231PD t, z, second
		`,
	},
	{
		signature: "Exp(x []T, shift float64) (sum float64)",
		doc:       "x = exp(x - shift), and the sum of the results in float64.",
		wide:      true, unroll: 2, scratch: "x t p square odd",
		constants: exp2Constants + "expLow expHigh log2e",
		work: `
			load x, x
			VSUBPD shift, x, x
			VMAXPD x, expLow@t, x
			VMINPD x, expHigh@t, x
			VMULPD log2e, x, x
			exp2 x, t, p, square, odd
			store p, x
			widen p
			clearRest p
			VADDPD p, sum, sum
		`,
	},
}

var distancesMax = routine{
	signature: "DistancesMax(x []T, scale, slope, far T) (largest T)",
	doc:       "x = scale * x - slope * (far - i) for element i, and the largest of the results; NaN is passed over.",
	unroll:    1, scratch: "x none t", kept: "distance", constants: "minusInf count lanesSingle",
	start: "VSUBPS count, far, distance",
	work: `
		loadOr x, minusInf@none, x
		VMULPS scale, x, x
		VMOVAPS distance, t
		VFNMADD231PS slope, t, x
		VSUBPS lanesSingle, distance, distance
		VMAXPS largest, x, largest
		store x, x
	`,
}

var expSingleSum = routine{
	signature: "ExpSingle(x []T, shift T) (sum float64)",
	doc:       "x = exp(x - shift), see expSingle, and the sum of the results.",
	unroll:    2, scratch: "x t f p", constants: expSingleConstants,
	work: `
		load x, x
		VSUBPS shift, x, x
		expSingle x, t, f, p
		clearRest p
		store p, x
		VADDPS p, sum, sum
	`,
}

var softmaxGradient = routine{
	signature: "SoftmaxGradient(prob, dprob []T, scale, slope, far, shift, delta T)",
	doc:       "p = exp(scale * p - slope * (far - i) - shift) for element i, see expSingle, and dp = p * (dp - delta).",
	unroll:    1, scratch: "x t f p", kept: "distance", constants: expSingleConstants + "count lanesSingle",
	start: "VSUBPS count, far, distance",
	work: `
		load prob, x
		VMULPS scale, x, x
		VFNMADD231PS slope, distance, x
		VSUBPS lanesSingle, distance, distance
		VSUBPS shift, x, x
		expSingle x, t, f, p
		clearRest p
		load dprob, x
		VSUBPS delta, x, x
		VMULPS p, x, x
		store p, prob
		store x, dprob
	`,
}

const expSingleConstants = "expSingleLow expSingleTop log2eHigh log2eLow exp2bias " +
	"oneSingle exp2s1 exp2s2 exp2s3 exp2s4 exp2s5 exp2s6 "

// expSingle computes p = exp(x) in float32 lanes, to 1.1 units in the last place. Results below
// 2^-126.5 may be 0, those above 2^127.5 infinite; NaN stays NaN. As in exp2, 2^x = 2^n 2^f, but
// adding exp2bias leaves n + 127 in the low bits of t, which shifted to the exponent give the
// number 2^n, or zero for n = -127. x, t and f change.
const expSingle = `expSingle x, t, f, p
	VMAXPS x, expSingleLow@t, x
	VMINPS x, expSingleTop@t, x
	expSingleWithin x, t, f, p
`

// expSingleWithin computes the same for -88 <= x <= 89.
const expSingleWithin = `expSingleWithin x, t, f, p
	VMOVUPS exp2bias, t
	VFMADD231PS log2eHigh, x, t
	VSUBPS exp2bias, t, f
	VFMSUB231PS log2eHigh, x, f
	VFMADD231PS log2eLow, x, f
	VMOVUPS exp2s6, p
	VFMADD213PS exp2s5, f, p
	VFMADD213PS exp2s4, f, p
	VFMADD213PS exp2s3, f, p
	VFMADD213PS exp2s2, f, p
	VFMADD213PS exp2s1, f, p
	VFMADD213PS oneSingle, f, p
	VPSLLD $23, t, t
	VMULPS t, p, p
`
