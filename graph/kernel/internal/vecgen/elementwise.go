package main

// elementwiseRoutines take as long as their loads and stores.
var elementwiseRoutines = []routine{
	{
		name:   "AddTo",
		doc:    "out = out + x.",
		slices: singles("out", "x"), unroll: 4, scratch: 2,
		work: func(b *builder) { b.combine("VADDPS", "out", "x") },
	},
	{
		name:   "SetSum",
		doc:    "out = x + y.",
		slices: singles("out", "x", "y"), unroll: 4, scratch: 2,
		work: func(b *builder) { b.combine("VADDPS", "x", "y") },
	},
	{
		name:   "AddTwo",
		doc:    "out = out + x + y.",
		slices: singles("out", "x", "y"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.load("out", b.r(0))
			b.load("x", b.r(1))
			b.Op("VADDPS", b.r(1), b.r(0), b.r(0))
			b.load("y", b.r(1))
			b.Op("VADDPS", b.r(1), b.r(0), b.r(0))
			b.store(b.r(0), "out")
		},
	},
	{
		name:   "Multiply",
		doc:    "out = x * y.",
		slices: singles("out", "x", "y"), unroll: 4, scratch: 2,
		work: func(b *builder) { b.combine("VMULPS", "x", "y") },
	},
	{
		name:   "ReLUSquared",
		doc:    "y = max(x, 0)^2.",
		slices: singles("y", "x"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			x := b.positive()
			b.Op("VMULPS", x, x, x)
			b.store(x, "y")
		},
	},
	{
		name:   "ReLUSquaredGradient",
		doc:    "dx = 2 * dy * max(x, 0).",
		slices: singles("dx", "dy", "x"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			x, dy := b.positive(), b.r(0)
			b.Op("VADDPS", x, x, x)
			b.load("dy", dy)
			b.Op("VMULPS", x, dy, dy)
			b.store(dy, "dx")
		},
	},
	{
		name:   "ReLU",
		doc:    "y = max(x, 0).",
		slices: singles("y", "x"), unroll: 4, scratch: 2,
		work: func(b *builder) { b.store(b.positive(), "y") },
	},
	{
		name:   "ReLUGradient",
		doc:    "dx = dy where x > 0, else 0 * dy; the slope is max(x, 0) times 2^254, which is at least 1 for the smallest x, limited to 1.",
		slices: singles("dx", "dy", "x"), unroll: 4, scratch: 2, constants: []string{"oneSingle", "huge"},
		work: func(b *builder) {
			x, t := b.positive(), b.r(0)
			b.Op("VMULPS", b.c("huge"), x, x)
			b.Op("VMULPS", b.c("huge"), x, x)
			b.Op("VMINPS", x, b.inRegister("oneSingle", t), x)
			b.load("dy", t)
			b.Op("VMULPS", x, t, t)
			b.store(t, "dx")
		},
	},
	{
		name:   "AddProducts",
		doc:    "out = out + x * y.",
		slices: singles("out", "x", "y"), unroll: 4, scratch: 3,
		work: func(b *builder) {
			b.load("out", b.r(0))
			b.load("x", b.r(1))
			b.load("y", b.r(2))
			b.Op("VFMADD231PS", b.r(2), b.r(1), b.r(0))
			b.store(b.r(0), "out")
		},
	},
	{
		name:   "Scale",
		doc:    "out = factor * x.",
		slices: singles("out", "x"), numbers: singles("factor"), unroll: 4, scratch: 1,
		work: func(b *builder) {
			b.load("x", b.r(0))
			b.Op("VMULPS", b.number("factor"), b.r(0), b.r(0))
			b.store(b.r(0), "out")
		},
	},
	{
		name:   "AddMultiple",
		doc:    "out = out + factor * x.",
		slices: singles("out", "x"), numbers: singles("factor"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.load("out", b.r(0))
			b.load("x", b.r(1))
			b.Op("VFMADD231PS", b.number("factor"), b.r(1), b.r(0))
			b.store(b.r(0), "out")
		},
	},
	{
		name:   "AddTwoMultiples",
		doc:    "out = out + factor * x + other * y.",
		slices: singles("out", "x", "y"), numbers: singles("factor", "other"), unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.load("out", b.r(0))
			b.load("x", b.r(1))
			b.Op("VFMADD231PS", b.number("factor"), b.r(1), b.r(0))
			b.load("y", b.r(1))
			b.Op("VFMADD231PS", b.number("other"), b.r(1), b.r(0))
			b.store(b.r(0), "out")
		},
	},
	{
		name:   "Flush",
		doc:    "total = total + block in float64, and block = 0.",
		slices: append(singles("block"), doubles("total")...), wide: true, unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.loadWidened("block", b.r(0))
			b.loadDouble("total", b.r(1))
			b.Op("VADDPD", b.r(0), b.r(1), b.r(1))
			b.storeDouble(b.r(1), "total")
			b.zero(b.r(0))
			b.storeNarrowed(b.r(0), "block")
		},
	},
	{
		name:   "AddDoubles",
		doc:    "out = out + x in float64.",
		slices: doubles("out", "x"), wide: true, unroll: 4, scratch: 2,
		work: func(b *builder) {
			b.loadDouble("out", b.r(0))
			b.loadDouble("x", b.r(1))
			b.Op("VADDPD", b.r(1), b.r(0), b.r(0))
			b.storeDouble(b.r(0), "out")
		},
	},
}

// positive loads x and returns the register with max(x, 0), scratch register 1; NaN stays NaN.
func (b *builder) positive() string {
	b.load("x", b.r(0))
	b.zero(b.r(1))
	b.Op("VMAXPS", b.r(0), b.r(1), b.r(1))
	return b.r(1)
}

// combine computes out = x op y.
func (b *builder) combine(op, x, y string) {
	b.load(x, b.r(0))
	b.load(y, b.r(1))
	b.Op(op, b.r(1), b.r(0), b.r(0))
	b.store(b.r(0), "out")
}
