package asm

// Load reads a vector of float32. If masked, the lanes outside the mask become zero; NEON has only
// whole vectors (LoadLanes).
func (w *Writer) Load(from, to string, masked bool) {
	switch {
	case w.NEON():
		w.Op("FMOVQ", from, Scalar(to))
	case !masked:
		w.Op("VMOVUPS", from, to)
	case w.Masks:
		w.Op("VMOVUPS.Z", from, w.Mask(), to)
	default:
		w.Op("VMASKMOVPS", from, w.Mask(), to)
	}
}

// Store writes a vector of float32. If masked, the lanes outside the mask are not written; NEON has
// only whole vectors (StoreLanes).
func (w *Writer) Store(from, to string, masked bool) {
	switch {
	case w.NEON():
		w.Op("FMOVQ", Scalar(from), to)
	case !masked:
		w.Op("VMOVUPS", from, to)
	case w.Masks:
		w.Op("VMOVUPS", from, w.Mask(), to)
	default:
		w.Op("VMASKMOVPS", from, w.Mask(), to)
	}
}

// MaskBits sets the mask register to the first count lanes; it overwrites scratch.
func (w *Writer) MaskBits(count, scratch string) {
	w.Op("MOVL", "$1", scratch)
	w.Op("SHLL", count, scratch)
	w.Op("DECL", scratch)
	w.Op("KMOVW", scratch, w.Mask())
}

// Reduce combines the 128-bit quarters of a vector by an instruction, into the lowest. It
// overwrites the vector register with number scratch. Both registers must be among the first 16,
// whose lower parts have names without AVX-512VL.
func (w *Writer) Reduce(name, vector, scratch string) {
	x, y := Quarter(vector), "Y"+vector[1:]
	if w.Masks {
		w.Op("VEXTRACTF64X4", "$1", vector, "Y"+scratch)
		w.Op(name, "Y"+scratch, y, y)
	}
	w.Op("VEXTRACTF128", "$1", y, "X"+scratch)
	w.Op(name, "X"+scratch, x, x)
}
