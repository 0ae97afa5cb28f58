package main

// The statistics are summed in float64 lanes, so that they are as good as the portable
// ones; the elements are scaled in float32, with the same roundings.
var normRoutines = []routine{
	{
		name:   "Sum",
		doc:    "the sum of x in float64.",
		slices: singles("x"), results: doubles("sum"), wide: true, unroll: 4, scratch: 1, kept: 1,
		start: func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			b.loadWidened("x", b.r(0))
			b.op("VADDPD", b.r(0), b.k(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSum(0, "sum") },
	},
	{
		name:   "Squares",
		doc:    "the sum of (x - mean)^2 in float64.",
		slices: singles("x"), numbers: doubles("mean"), results: doubles("sum"), wide: true, unroll: 4, scratch: 1, kept: 1,
		start: func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			b.loadWidened("x", b.r(0))
			b.op("VSUBPD", b.number("mean"), b.r(0), b.r(0))
			b.clearRest(b.r(0))
			b.op("VFMADD231PD", b.r(0), b.r(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSum(0, "sum") },
	},
	{
		name:   "GradientSums",
		doc:    "the sums of h and of h * normal, h = dy * gain, in float64.",
		slices: singles("normal", "dy", "gain"), results: doubles("sumH", "sumHN"), wide: true, unroll: 2, scratch: 2, kept: 2,
		start: func(b *builder) { b.zero(b.k(0)); b.zero(b.k(1)) },
		work: func(b *builder) {
			b.loadWidened("dy", b.r(0))
			b.loadWidened("gain", b.r(1))
			b.op("VMULPD", b.r(1), b.r(0), b.r(0))
			b.loadWidened("normal", b.r(1))
			b.op("VADDPD", b.r(0), b.k(0), b.k(0))
			b.op("VFMADD231PD", b.r(1), b.r(0), b.k(1))
		},
		finish: func(b *builder) { b.emitSum(0, "sumH"); b.emitSum(1, "sumHN") },
	},
	{
		name:   "Normalize",
		doc:    "y = (x - mean - rest) * rstd.",
		slices: singles("y", "x"), numbers: singles("mean", "rest", "rstd"), unroll: 4, scratch: 1,
		work: func(b *builder) {
			b.normalize(b.r(0))
			b.store(b.r(0), "y")
		},
	},
	{
		name:   "NormScale",
		doc:    "y = (x - mean - rest) * rstd * gain.",
		slices: singles("y", "x", "gain"), numbers: singles("mean", "rest", "rstd"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.normalize(b.r(0))
			b.load("gain", b.r(1))
			b.op("VMULPS", b.r(1), b.r(0), b.r(0))
			b.store(b.r(0), "y")
		},
	},
	{
		name:   "NormScaleShift",
		doc:    "y = (x - mean - rest) * rstd * gain + bias.",
		slices: singles("y", "x", "gain", "bias"), numbers: singles("mean", "rest", "rstd"), unroll: 2, scratch: 3,
		work: func(b *builder) {
			b.normalize(b.r(0))
			b.load("gain", b.r(1))
			b.load("bias", b.r(2))
			b.op("VFMADD213PS", b.r(2), b.r(1), b.r(0))
			b.store(b.r(0), "y")
		},
	},
	{
		name:   "NormGradient",
		doc:    "dx = (dy * gain - meanH - normal * meanHN) * rstd.",
		slices: singles("dx", "dy", "gain", "normal"), numbers: singles("meanH", "meanHN", "rstd"), unroll: 2, scratch: 3,
		work: func(b *builder) {
			b.normGradient(b.r(0), b.r(1), b.r(2))
			b.op("VMULPS", b.number("rstd"), b.r(0), b.r(0))
			b.store(b.r(0), "dx")
		},
	},
	{
		name:   "NormGradientAdd",
		doc:    "dx = addend + (dy * gain - meanH - normal * meanHN) * rstd.",
		slices: singles("dx", "dy", "gain", "normal", "addend"), numbers: singles("meanH", "meanHN", "rstd"), unroll: 2, scratch: 3,
		work: func(b *builder) {
			b.normGradient(b.r(0), b.r(1), b.r(2))
			b.load("addend", b.r(1))
			b.op("VFMADD213PS", b.r(1), b.number("rstd"), b.r(0))
			b.store(b.r(0), "dx")
		},
	},
}

// normGradient computes x = dy * gain - meanH - normal * meanHN.
func (b *builder) normGradient(x, gain, normal string) {
	b.load("dy", x)
	b.load("gain", gain)
	b.load("normal", normal)
	b.op("VFMSUB213PS", b.number("meanH"), gain, x)
	b.op("VFNMADD231PS", b.number("meanHN"), normal, x)
}

// normalize loads x and computes (x - mean - rest) * rstd.
func (b *builder) normalize(x string) {
	b.load("x", x)
	b.op("VSUBPS", b.number("mean"), x, x)
	b.op("VSUBPS", b.number("rest"), x, x)
	b.op("VMULPS", b.number("rstd"), x, x)
}
