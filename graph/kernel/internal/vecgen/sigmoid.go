package main

import "slices"

// With E = exp(-x) the logistic function is 1/(1 + E), and 1 minus it is E/(1 + E). Everything is
// computed in float64 lanes and rounded once.
var sigmoidConstants = slices.Concat(exp2Constants, []string{"sigmoidLow", "sigmoidHigh", "minusLog2e"})

var sigmoidRoutines = []routine{
	{
		name:   "Sigmoid",
		doc:    "y = sigmoid(x).",
		slices: singles("y", "x"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: func(b *builder) {
			b.sigmoidDecay("x")
			x, e := b.r(0), b.r(3)
			b.Op("VMOVUPD", b.c("one"), x)
			b.Op("VADDPD", x, e, e)
			b.Op("VDIVPD", e, x, x)
			b.storeNarrowed(x, "y")
		},
	},
	{
		name:   "SigmoidGradient",
		doc:    "dx = dy * y * (1 - y).",
		slices: singles("dx", "dy", "y"), wide: true, unroll: 4, scratch: 3, constants: []string{"one"},
		work: func(b *builder) {
			dy, y, rest := b.r(0), b.r(1), b.r(2)
			b.loadWidened("dy", dy)
			b.loadWidened("y", y)
			b.Op("VMOVUPD", b.c("one"), rest)
			b.Op("VSUBPD", y, rest, rest)
			b.Op("VMULPD", y, dy, dy)
			b.Op("VMULPD", rest, dy, dy)
			b.storeNarrowed(dy, "dx")
		},
	},
	{
		name:   "Gated",
		doc:    "y = sigmoid(gate) * value.",
		slices: singles("y", "gate", "value"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: func(b *builder) { b.storeNarrowed(b.gated(), "y") },
	},
	{
		name:   "GatedAdd",
		doc:    "y = addend + sigmoid(gate) * value.",
		slices: singles("y", "addend", "gate", "value"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: func(b *builder) {
			product, addend := b.gated(), b.r(1)
			b.loadWidened("addend", addend)
			b.Op("VADDPD", addend, product, product)
			b.storeNarrowed(product, "y")
		},
	},
	{
		name:   "GatedGradient",
		doc:    "dgate = dy * value * sigmoid'(gate) and dvalue = dy * sigmoid(gate).",
		slices: singles("dgate", "dvalue", "dy", "gate", "value"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: func(b *builder) {
			slope, through := b.gatedGradient()
			b.storeNarrowed(slope, "dgate")
			b.storeNarrowed(through, "dvalue")
		},
	},
	{
		name:   "GatedGradientAdd",
		doc:    "dgate = dy * value * sigmoid'(gate) and dvalue = addend + dy * sigmoid(gate), the product rounded.",
		slices: singles("dgate", "dvalue", "dy", "gate", "value", "addend"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: func(b *builder) {
			slope, through := b.gatedGradient()
			addend := b.r(4)
			b.loadWidened("addend", addend)
			b.round(through)
			b.Op("VADDPD", addend, through, through)
			b.storeNarrowed(slope, "dgate")
			b.storeNarrowed(through, "dvalue")
		},
	},
	{
		name:   "SwiGLU",
		doc:    "y = gate * sigmoid(gate) * value.",
		slices: singles("y", "gate", "value"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: func(b *builder) {
			product, gate := b.gated(), b.r(1)
			b.boundedGate(gate, b.r(2))
			b.Op("VMULPD", gate, product, product)
			b.storeNarrowed(product, "y")
		},
	},
	{
		name:   "SwiGLUGradient",
		doc:    "dgate = dy * value * silu'(gate) and dvalue = dy * silu(gate), silu(x) being x * sigmoid(x).",
		slices: singles("dgate", "dvalue", "dy", "gate", "value"), wide: true, unroll: 2, scratch: 6, constants: sigmoidConstants,
		work: (*builder).swiGLUGradient,
	},
}

var sigmoidSingleConstants = slices.Concat(expSingleConstants, []string{"gateLow", "gateHigh"})

// gatedSingleRoutines are Gated and related routines in float32 lanes, to a few units in the last
// place.
var gatedSingleRoutines = []routine{
	{
		name:   "GatedSingle",
		doc:    "y = sigmoid(gate) * value, see expSingle.",
		slices: singles("y", "gate", "value"), unroll: 3, scratch: 4, constants: sigmoidSingleConstants,
		work: func(b *builder) { b.store(b.gated(), "y") },
	},
	{
		name:   "GatedAddSingle",
		doc:    "y = addend + sigmoid(gate) * value, see expSingle.",
		slices: singles("y", "addend", "gate", "value"), unroll: 3, scratch: 4, constants: sigmoidSingleConstants,
		work: func(b *builder) {
			product, addend := b.gated(), b.r(1)
			b.load("addend", addend)
			b.Op("VADDPS", addend, product, product)
			b.store(product, "y")
		},
	},
	{
		name:   "GatedGradientSingle",
		doc:    "dgate = dy * value * sigmoid'(gate) and dvalue = dy * sigmoid(gate), see expSingle.",
		slices: singles("dgate", "dvalue", "dy", "gate", "value"), unroll: 3, scratch: 4, constants: sigmoidSingleConstants,
		work: func(b *builder) {
			slope, through := b.gatedGradient()
			b.store(slope, "dgate")
			b.store(through, "dvalue")
		},
	},
}

// sigmoidDecaySingle loads a slice's x and leaves exp(-x) in scratch register 3; x is limited so
// that neither exp(-x) nor its inverse is 0 or infinite. Scratch registers 0 to 3 change.
func (b *builder) sigmoidDecaySingle(name string) {
	x, t, e := b.r(0), b.r(1), b.r(3)
	b.load(name, x)
	b.zero(e)
	b.Op("VSUBPS", x, e, x)
	b.Op("VMAXPS", x, b.inRegister("gateLow", t), x)
	b.Op("VMINPS", x, b.inRegister("gateHigh", t), x)
	b.expSingleWithin(x, t, b.r(2), e)
}

// sigmoidDecay loads a slice's x and leaves exp(-x) in scratch register 3. Scratch
// registers 0 to 5 change.
func (b *builder) sigmoidDecay(x string) {
	value, t := b.r(0), b.r(1)
	b.loadWidened(x, value)
	b.atLeast(value, "sigmoidLow", t)
	b.atMost(value, "sigmoidHigh", t)
	b.Op("VMULPD", b.c("minusLog2e"), value, value)
	b.exp2(value, t, b.r(3), b.r(4), b.r(5))
}

// lanes holds what differs between float64 and float32 lanes: the ends of instructions' names, a
// constant, and how slices are loaded.
type lanes struct {
	ending, one string
	load        func(name, to string)
}

// decay leaves exp(-gate) in scratch register 3 and returns the lanes of the routine.
func (b *builder) decay() lanes {
	if b.wide {
		b.sigmoidDecay("gate")
		return lanes{"PD", b.c("one"), b.loadWidened}
	}
	b.sigmoidDecaySingle("gate")
	return lanes{"PS", b.c("oneSingle"), b.load}
}

// gated returns the register with sigmoid(gate) * value, scratch register 0.
func (b *builder) gated() string {
	l, value, e := b.decay(), b.r(0), b.r(3)
	b.Op("VADD"+l.ending, l.one, e, e)
	l.load("value", value)
	b.Op("VDIV"+l.ending, e, value, value)
	return value
}

// gatedGradient returns the registers with dy * value * sigmoid'(gate) and dy * sigmoid(gate),
// scratch registers 1 and 0, after loading both slices.
func (b *builder) gatedGradient() (slope, through string) {
	l, dy, value, open, e := b.decay(), b.r(0), b.r(1), b.r(2), b.r(3)
	multiply := func(x, y string) { b.Op("VMUL"+l.ending, x, y, y) }
	b.Op("VADD"+l.ending, l.one, e, dy)
	b.Op("VMOVU"+l.ending, l.one, open)
	b.Op("VDIV"+l.ending, dy, open, open)
	multiply(open, e) // 1 - sigmoid(gate)
	l.load("dy", dy)
	multiply(open, dy) // dy sigmoid(gate)
	multiply(dy, e)
	l.load("value", value)
	multiply(e, value)
	return value, dy
}

// boundedGate loads the gate, limited from below like sigmoid's argument: silu(-Inf) is then 0 to
// the last place.
func (b *builder) boundedGate(gate, spare string) {
	b.loadWidened("gate", gate)
	b.atLeast(gate, "sigmoidLow", spare)
}

// swiGLUGradient uses silu'(x) = s (1 + x (1 - s)), s = sigmoid(x).
func (b *builder) swiGLUGradient() {
	b.sigmoidDecay("gate")
	gate, value, open, slope, dy := b.r(0), b.r(1), b.r(2), b.r(3), b.r(4)
	b.Op("VADDPD", b.c("one"), slope, gate)
	b.Op("VMOVUPD", b.c("one"), open)
	b.Op("VDIVPD", gate, open, open)
	b.Op("VMULPD", open, slope, slope) // 1 - s
	b.boundedGate(gate, value)
	b.atMost(gate, "sigmoidHigh", value) // beyond it, 1 - s is not small enough to give 0 for infinities
	b.Op("VFMADD213PD", b.c("one"), gate, slope)
	b.boundedGate(gate, value)
	b.loadWidened("dy", dy)
	b.Op("VMULPD", open, dy, dy)
	b.Op("VMULPD", dy, slope, slope)
	b.Op("VMULPD", dy, gate, gate)
	b.loadWidened("value", value)
	b.Op("VMULPD", value, slope, slope)
	b.storeNarrowed(gate, "dvalue")
	b.storeNarrowed(slope, "dgate") // last: see swiGLUGradient in package kernel
}

// round rounds float64 lanes to float32. The sum of two such numbers, rounded again, equals their
// sum in float32.
func (b *builder) round(register string) {
	narrow := b.Half(register)
	if b.Masks {
		b.Op("VCVTPD2PS", register, narrow)
	} else {
		b.Op("VCVTPD2PSY", register, narrow)
	}
	b.Op("VCVTPS2PD", narrow, register)
}
