package main

// With E = exp(-x) the logistic function is 1/(1 + E), and 1 minus it is E/(1 + E). Everything is
// computed in float64 lanes and rounded once.
const sigmoidConstants = exp2Constants + "sigmoidLow sigmoidHigh minusLog2e"

var sigmoidRoutines = []routine{
	{
		signature: "Sigmoid(y, x []T)",
		chooser:   "sigmoid",
		doc:       "y = sigmoid(x).",
		wide:      true, unroll: 2, scratch: "x t f e square odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay x, x, t, e, square, odd
			VMOVUPD one, x
			VADDPD x, e, e
			VDIVPD e, x, x
			store x, y
		`,
	},
	{
		signature: "SigmoidGradient(dx, dy, y []T)",
		chooser:   "sigmoidGradient",
		doc:       "dx = dy * y * (1 - y).",
		wide:      true, unroll: 4, scratch: "dy y rest", constants: "one",
		work: `
			load dy, dy
			load y, y
			VMOVUPD one, rest
			VSUBPD y, rest, rest
			VMULPD y, dy, dy
			VMULPD rest, dy, dy
			store dy, dx
		`,
	},
	{
		signature: "Gated(y, gate, value []T)",
		doc:       "y = sigmoid(gate) * value.",
		wide:      true, unroll: 2, scratch: "product t f e square odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay gate, product, t, e, square, odd
			gated PD, one, e, product
			store product, y
		`,
	},
	{
		signature: "GatedAdd(y, addend, gate, value []T)",
		doc:       "y = addend + sigmoid(gate) * value.",
		wide:      true, unroll: 2, scratch: "product addend f e square odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay gate, product, addend, e, square, odd
			gated PD, one, e, product
			load addend, addend
			VADDPD addend, product, product
			store product, y
		`,
	},
	{
		signature: "GatedGradient(dgate, dvalue, dy, gate, value []T)",
		doc:       "dgate = dy * value * sigmoid'(gate) and dvalue = dy * sigmoid(gate).",
		wide:      true, unroll: 2, scratch: "through slope open e square odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay gate, through, slope, e, square, odd
			gatedGradient PD, one, through, slope, open, e
			store slope, dgate
			store through, dvalue
		`,
	},
	{
		signature: "GatedGradientAdd(dgate, dvalue, dy, gate, value, addend []T)",
		doc:       "dgate = dy * value * sigmoid'(gate) and dvalue = addend + dy * sigmoid(gate), the product rounded.",
		wide:      true, unroll: 2, scratch: "through slope open e addend odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay gate, through, slope, e, addend, odd
			gatedGradient PD, one, through, slope, open, e
			load addend, addend
			narrow through // the sum of two float32 numbers, rounded, equals their sum in float32
			widen through
			VADDPD addend, through, through
			store slope, dgate
			store through, dvalue
		`,
	},
	{
		signature: "SwiGLU(y, gate, value []T)",
		chooser:   "swiGLU",
		doc:       "y = gate * sigmoid(gate) * value.",
		wide:      true, unroll: 2, scratch: "product gate t e square odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay gate, product, gate, e, square, odd
			gated PD, one, e, product
			load gate, gate
			VMAXPD gate, sigmoidLow@t, gate // as sigmoid's argument is: silu(-Inf) is then 0 to the last place
			VMULPD gate, product, product
			store product, y
		`,
	},
	{
		// silu'(x) = s (1 + x (1 - s)), s = sigmoid(x).
		signature: "SwiGLUGradient(dgate, dvalue, dy, gate, value []T)",
		chooser:   "swiGLUGradient",
		doc:       "dgate = dy * value * silu'(gate) and dvalue = dy * silu(gate), silu(x) being x * sigmoid(x).",
		wide:      true, unroll: 2, scratch: "gate value open slope dy odd", constants: sigmoidConstants,
		work: `
			sigmoidDecay gate, gate, value, slope, dy, odd
			VADDPD one, slope, gate
			VMOVUPD one, open
			VDIVPD gate, open, open
			VMULPD open, slope, slope // 1 - s
			load gate, gate
			VMAXPD gate, sigmoidLow@value, gate
			VMINPD gate, sigmoidHigh@value, gate // beyond it, 1 - s is not small enough to give 0 for infinities
			VFMADD213PD one, gate, slope
			load gate, gate
			VMAXPD gate, sigmoidLow@value, gate
			load dy, dy
			VMULPD open, dy, dy
			VMULPD dy, slope, slope
			VMULPD dy, gate, gate
			load value, value
			VMULPD value, slope, slope
			store gate, dvalue
			store slope, dgate // last: see swiGLUGradientPortable in package kernel
		`,
	},
}

const sigmoidSingleConstants = expSingleConstants + "gateLow gateHigh"

// gatedSingleRoutines are Gated and related routines in float32 lanes, to a few units in the last
// place.
var gatedSingleRoutines = []routine{
	{
		signature: "GatedSingle(y, gate, value []T)",
		doc:       "y = sigmoid(gate) * value, see expSingle.",
		unroll:    3, scratch: "product t f e", constants: sigmoidSingleConstants,
		work: `
			sigmoidDecaySingle gate, product, t, f, e
			gated PS, oneSingle, e, product
			store product, y
		`,
	},
	{
		signature: "GatedAddSingle(y, addend, gate, value []T)",
		doc:       "y = addend + sigmoid(gate) * value, see expSingle.",
		unroll:    3, scratch: "product addend f e", constants: sigmoidSingleConstants,
		work: `
			sigmoidDecaySingle gate, product, addend, f, e
			gated PS, oneSingle, e, product
			load addend, addend
			VADDPS addend, product, product
			store product, y
		`,
	},
	{
		signature: "GatedGradientSingle(dgate, dvalue, dy, gate, value []T)",
		doc:       "dgate = dy * value * sigmoid'(gate) and dvalue = dy * sigmoid(gate), see expSingle.",
		unroll:    3, scratch: "through slope open e", constants: sigmoidSingleConstants,
		work: `
			sigmoidDecaySingle gate, through, slope, open, e
			gatedGradient PS, oneSingle, through, slope, open, e
			store slope, dgate
			store through, dvalue
		`,
	},
}

// sigmoidDecay loads x from a slice and computes e = exp(-x). All registers change.
const sigmoidDecay = `sigmoidDecay slice, x, t, e, square, odd
	load slice, x
	VMAXPD x, sigmoidLow@t, x
	VMINPD x, sigmoidHigh@t, x
	VMULPD minusLog2e, x, x
	exp2 x, t, e, square, odd
`

// sigmoidDecaySingle does what sigmoidDecay does, in float32 lanes; x is limited so that
// neither exp(-x) nor its inverse is 0 or infinite.
const sigmoidDecaySingle = `sigmoidDecaySingle slice, x, t, f, e
	load slice, x
	zero e
	VSUBPS x, e, x
	VMAXPS x, gateLow@t, x
	VMINPS x, gateHigh@t, x
	expSingleWithin x, t, f, e
`

// gated computes product = sigmoid(gate) * value from e = exp(-gate), in lanes PD or PS.
const gated = `gated lanes, one, e, product
	VADD lanes, one, e, e
	load value, product
	VDIV lanes, e, product, product
`

// gatedGradient computes slope = dy * value * sigmoid'(gate) and through = dy * sigmoid(gate) from
// e = exp(-gate), after loading both slices.
const gatedGradient = `gatedGradient lanes, one, through, slope, open, e
	VADD lanes, one, e, through
	VMOVU lanes, one, open
	VDIV lanes, through, open, open
	VMUL lanes, open, e, e // 1 - sigmoid(gate)
	load dy, through
	VMUL lanes, open, through, through
	VMUL lanes, through, e, e
	load value, slope
	VMUL lanes, e, slope, slope
`
