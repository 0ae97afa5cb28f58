package main

// The sums are taken in float32, separately for each lane of each unrolled vector, and then over
// the lanes in float64: a lane sums so few terms that only the last digit is affected.
var normRoutines = []routine{
	{
		name:   "Sum",
		doc:    "the sum of x - shift.",
		slices: singles("x"), numbers: singles("shift"), results: doubles("sum"), unroll: 4, scratch: 1, kept: 1,
		start: func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			b.load("x", b.r(0))
			b.Op("VSUBPS", b.number("shift"), b.r(0), b.r(0))
			b.clearRest(b.r(0))
			b.Op("VADDPS", b.r(0), b.k(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSumSingle(0, "sum") },
	},
	{
		name:   "Squares",
		doc:    "the sum of (x - mean - rest)^2.",
		slices: singles("x"), numbers: singles("mean", "rest"), results: doubles("sum"), unroll: 4, scratch: 1, kept: 1,
		start: func(b *builder) { b.zero(b.k(0)) },
		work: func(b *builder) {
			b.load("x", b.r(0))
			b.Op("VSUBPS", b.number("mean"), b.r(0), b.r(0))
			b.Op("VSUBPS", b.number("rest"), b.r(0), b.r(0))
			b.clearRest(b.r(0))
			b.Op("VFMADD231PS", b.r(0), b.r(0), b.k(0))
		},
		finish: func(b *builder) { b.emitSumSingle(0, "sum") },
	},
	{
		name:   "GradientSums",
		doc:    "the sums of h and of h * normal, h = dy * gain.",
		slices: singles("normal", "dy", "gain"), results: doubles("sumH", "sumHN"), unroll: 2, scratch: 2, kept: 2,
		start: func(b *builder) { b.zero(b.k(0)); b.zero(b.k(1)) },
		work: func(b *builder) {
			b.load("dy", b.r(0))
			b.load("gain", b.r(1))
			b.Op("VMULPS", b.r(1), b.r(0), b.r(0))
			b.load("normal", b.r(1))
			b.Op("VADDPS", b.r(0), b.k(0), b.k(0))
			b.Op("VFMADD231PS", b.r(1), b.r(0), b.k(1))
		},
		finish: func(b *builder) { b.emitSumSingle(0, "sumH"); b.emitSumSingle(1, "sumHN") },
	},
	{
		name:   "GradientSumsGain",
		doc:    "the sums of h and of h * normal, h = dy * gain, and dgain = dgain + dy * normal.",
		slices: singles("dgain", "normal", "dy", "gain"), results: doubles("sumH", "sumHN"), unroll: 2, scratch: 3, kept: 2,
		start: func(b *builder) { b.zero(b.k(0)); b.zero(b.k(1)) },
		work: func(b *builder) {
			dy, normal, x := b.r(0), b.r(1), b.r(2)
			b.load("dy", dy)
			b.load("normal", normal)
			b.load("dgain", x)
			b.Op("VFMADD231PS", normal, dy, x)
			b.store(x, "dgain")
			b.load("gain", x)
			b.Op("VMULPS", x, dy, dy)
			b.Op("VADDPS", dy, b.k(0), b.k(0))
			b.Op("VFMADD231PS", normal, dy, b.k(1))
		},
		finish: func(b *builder) { b.emitSumSingle(0, "sumH"); b.emitSumSingle(1, "sumHN") },
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
			b.Op("VMULPS", b.r(1), b.r(0), b.r(0))
			b.store(b.r(0), "y")
		},
	},
	{
		name:   "NormalizeScale",
		doc:    "y = (x - mean - rest) * rstd, z = y * gain.",
		slices: singles("y", "z", "x", "gain"), numbers: singles("mean", "rest", "rstd"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.normalize(b.r(0))
			b.load("gain", b.r(1))
			b.store(b.r(0), "y")
			b.Op("VMULPS", b.r(1), b.r(0), b.r(0))
			b.store(b.r(0), "z")
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
			b.Op("VFMADD213PS", b.r(2), b.r(1), b.r(0))
			b.store(b.r(0), "y")
		},
	},
	{
		name:   "NormGradient",
		doc:    "dx = (dy * gain - meanH - normal * meanHN) * rstd.",
		slices: singles("dx", "dy", "gain", "normal"), numbers: singles("meanH", "meanHN", "rstd"), unroll: 2, scratch: 3,
		work: func(b *builder) {
			b.normGradient(b.r(0), b.r(1), b.r(2))
			b.Op("VMULPS", b.number("rstd"), b.r(0), b.r(0))
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
			b.Op("VFMADD213PS", b.r(1), b.number("rstd"), b.r(0))
			b.store(b.r(0), "dx")
		},
	},
}

// normGradient computes x = dy * gain - meanH - normal * meanHN.
func (b *builder) normGradient(x, gain, normal string) {
	b.load("dy", x)
	b.load("gain", gain)
	b.load("normal", normal)
	b.Op("VFMSUB213PS", b.number("meanH"), gain, x)
	b.Op("VFNMADD231PS", b.number("meanHN"), normal, x)
}

// normalize loads x and computes (x - mean - rest) * rstd.
func (b *builder) normalize(x string) {
	b.load("x", x)
	b.Op("VSUBPS", b.number("mean"), x, x)
	b.Op("VSUBPS", b.number("rest"), x, x)
	b.Op("VMULPS", b.number("rstd"), x, x)
}
