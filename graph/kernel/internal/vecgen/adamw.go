package main

var adamWRoutines = []routine{{
	signature: "AdamW(w, dw, m, v []T, new1, new2, rate, correct, eps, decay, scale T)",
	doc:       "one step on weights, moments and gradient; see adamWTask.",
	unroll:    1, scratch: "s first second weight",
	work: `
		load dw, s
		VMULPS scale, s, s
		load m, first
		VSUBPS first, s, weight
		VFMADD231PS new1, weight, first // m + new1 (s - m)
		store first, m
		load v, second
		VFMSUB213PS second, s, s
		VFMADD231PS new2, s, second // v + new2 (s^2 - v)
		store second, v
		VMULPS correct, second, second
		VSQRTPS second, second
		VADDPS eps, second, second
		VMULPS rate, first, first
		VDIVPS second, first, first
		load w, weight
		VFMADD231PS decay, weight, first
		VSUBPS first, weight, weight
		store weight, w
	`,
}}
