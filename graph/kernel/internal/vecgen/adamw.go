package main

var adamWRoutines = []routine{{
	name:   "AdamW",
	doc:    "one step on weights, moments and gradient; see adamWTask.",
	slices: singles("w", "dw", "m", "v"), unroll: 1, scratch: 4,
	numbers: singles("new1", "new2", "rate", "correct", "eps", "decay", "scale"),
	work: func(b *builder) {
		s, m, v, w := b.r(0), b.r(1), b.r(2), b.r(3)
		b.load("dw", s)
		b.Op("VMULPS", b.number("scale"), s, s)
		b.load("m", m)
		b.Op("VSUBPS", m, s, w)
		b.Op("VFMADD231PS", b.number("new1"), w, m) // m + new1 (s - m)
		b.store(m, "m")
		b.load("v", v)
		b.Op("VFMSUB213PS", v, s, s)
		b.Op("VFMADD231PS", b.number("new2"), s, v) // v + new2 (s^2 - v)
		b.store(v, "v")
		b.Op("VMULPS", b.number("correct"), v, v)
		b.Op("VSQRTPS", v, v)
		b.Op("VADDPS", b.number("eps"), v, v)
		b.Op("VMULPS", b.number("rate"), m, m)
		b.Op("VDIVPS", v, m, m)
		b.load("w", w)
		b.Op("VFMADD231PS", b.number("decay"), w, m)
		b.Op("VSUBPS", m, w, w)
		b.store(w, "w")
	},
}}
