package main

// The sums are taken in float32, separately for each lane of each unrolled vector, and then over
// the lanes in float64: a lane sums so few terms that only the last digit is affected.
var normRoutines = []routine{
	{
		signature: "Sum(x []T, shift T) (sum float64)",
		doc:       "the sum of x - shift.",
		unroll:    4, scratch: "x",
		work: `
			load x, x
			VSUBPS shift, x, x
			clearRest x
			VADDPS x, sum, sum
		`,
	},
	{
		signature: "Squares(x []T, mean, rest T) (sum float64)",
		doc:       "the sum of (x - mean - rest)^2.",
		unroll:    4, scratch: "x",
		work: `
			load x, x
			VSUBPS mean, x, x
			VSUBPS rest, x, x
			clearRest x
			VFMADD231PS x, x, sum
		`,
	},
	{
		signature: "GradientSums(normal, dy, gain []T) (sumH, sumHN float64)",
		doc:       "the sums of h and of h * normal, h = dy * gain.",
		unroll:    2, scratch: "h t",
		work: `
			load dy, h
			load gain, t
			VMULPS t, h, h
			load normal, t
			VADDPS h, sumH, sumH
			VFMADD231PS t, h, sumHN
		`,
	},
	{
		signature: "GradientSumsGain(dgain, normal, dy, gain []T) (sumH, sumHN float64)",
		doc:       "the sums of h and of h * normal, h = dy * gain, and dgain = dgain + dy * normal.",
		unroll:    2, scratch: "dy normal t",
		work: `
			load dy, dy
			load normal, normal
			load dgain, t
			VFMADD231PS normal, dy, t
			store t, dgain
			load gain, t
			VMULPS t, dy, dy
			VADDPS dy, sumH, sumH
			VFMADD231PS normal, dy, sumHN
		`,
	},
	{
		signature: "Normalize(y, x []T, mean, rest, rstd T)",
		doc:       "y = (x - mean - rest) * rstd.",
		unroll:    4, scratch: "y",
		work: `
			normalize y
			store y, y
		`,
	},
	{
		signature: "NormScale(y, x, gain []T, mean, rest, rstd T)",
		doc:       "y = (x - mean - rest) * rstd * gain.",
		unroll:    4, scratch: "y gain",
		work: `
			normalize y
			load gain, gain
			VMULPS gain, y, y
			store y, y
		`,
	},
	{
		signature: "NormalizeScale(y, z, x, gain []T, mean, rest, rstd T)",
		doc:       "y = (x - mean - rest) * rstd, z = y * gain.",
		unroll:    4, scratch: "y gain",
		work: `
			normalize y
			load gain, gain
			store y, y
			VMULPS gain, y, y
			store y, z
		`,
	},
	{
		signature: "NormScaleShift(y, x, gain, bias []T, mean, rest, rstd T)",
		doc:       "y = (x - mean - rest) * rstd * gain + bias.",
		unroll:    2, scratch: "y gain bias",
		work: `
			normalize y
			load gain, gain
			load bias, bias
			VFMADD213PS bias, gain, y
			store y, y
		`,
	},
	{
		signature: "NormGradient(dx, dy, gain, normal []T, meanH, meanHN, rstd T)",
		doc:       "dx = (dy * gain - meanH - normal * meanHN) * rstd.",
		unroll:    2, scratch: "dx gain normal",
		work: `
			normGradient dx, gain, normal
			VMULPS rstd, dx, dx
			store dx, dx
		`,
	},
	{
		signature: "NormGradientAdd(dx, dy, gain, normal, addend []T, meanH, meanHN, rstd T)",
		doc:       "dx = addend + (dy * gain - meanH - normal * meanHN) * rstd.",
		unroll:    2, scratch: "dx addend normal",
		work: `
			normGradient dx, addend, normal
			load addend, addend
			VFMADD213PS addend, rstd, dx
			store dx, dx
		`,
	},
}

// normGradient computes to = dy * gain - meanH - normal * meanHN.
const normGradient = `normGradient to, ofGain, ofNormal
	load dy, to
	load gain, ofGain
	load normal, ofNormal
	VFMSUB213PS meanH, ofGain, to
	VFNMADD231PS meanHN, ofNormal, to
`

// normalize loads x and computes to = (x - mean - rest) * rstd.
const normalize = `normalize to
	load x, to
	VSUBPS mean, to, to
	VSUBPS rest, to, to
	VMULPS rstd, to, to
`
