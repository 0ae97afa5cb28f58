package main

// elementwiseRoutines take as long as their loads and stores.
var elementwiseRoutines = []routine{
	{
		signature: "AddTwo(out, x, y []T)",
		chooser:   "addTwo",
		doc:       "out = out + x + y.",
		unroll:    4, scratch: "out t",
		work: `
			load out, out
			load x, t
			VADDPS t, out, out
			load y, t
			VADDPS t, out, out
			store out, out
		`,
	},
	{
		signature: "ReLUGradient(dx, dy, x []T)",
		chooser:   "reluGradient",
		doc:       "dx = dy where x > 0, else 0 * dy; the slope is max(x, 0) times 2^254, which is at least 1 for the smallest x, limited to 1.",
		unroll:    4, scratch: "t x", constants: "oneSingle huge",
		work: `
			positive t, x
			VMULPS huge, x, x
			VMULPS huge, x, x
			VMINPS x, oneSingle@t, x
			load dy, t
			VMULPS x, t, t
			store t, dx
		`,
	},
	{
		signature: "Scale(out, x []T, factor T)",
		doc:       "out = factor * x.",
		unroll:    4, scratch: "x",
		work: `
			load x, x
			VMULPS factor, x, x
			store x, out
		`,
	},
	{
		signature: "AddTwoMultiples(out, x, y []T, factor, other T)",
		chooser:   "addTwoMultiples",
		doc:       "out = out + factor * x + other * y.",
		unroll:    4, scratch: "out t",
		work: `
			load out, out
			load x, t
			VFMADD231PS factor, t, out
			load y, t
			VFMADD231PS other, t, out
			store out, out
		`,
	},
	{
		signature: "Flush(block []T, total []float64)",
		doc:       "total = total + block in float64, and block = 0.",
		wide:      true, unroll: 4, scratch: "block total",
		work: `
			load block, block
			load total, total
			VADDPD block, total, total
			store total, total
			zero block
			store block, block
		`,
	},
	{
		signature: "AddDoubles(out, x []float64)",
		chooser:   "addDoubles",
		doc:       "out = out + x in float64.",
		wide:      true, unroll: 4, scratch: "out x",
		work: `
			load out, out
			load x, x
			VADDPD x, out, out
			store out, out
		`,
	},
}

// positive loads x and computes to = max(x, 0); NaN stays NaN.
const positive = `positive t, to
	load x, t
	zero to
	VMAXPS t, to, to
`
