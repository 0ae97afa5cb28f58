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
}
