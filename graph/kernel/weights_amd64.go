package kernel

// runFast runs the micro-kernel of a format on a fast path: a product, or unpacking.
func (t *weightsTile) runFast(p path, format WeightFormat, unpack bool) {
	switch wide := p == avx512; {
	case format == WeightsBF16 && unpack && wide:
		avx512Unpack16(t)
	case format == WeightsBF16 && unpack:
		avx2Unpack16(t)
	case format == WeightsBF16 && wide:
		avx512Multiply16(t)
	case format == WeightsBF16:
		avx2Multiply16(t)
	case unpack && wide:
		avx512Unpack8(t)
	case unpack:
		avx2Unpack8(t)
	case wide:
		avx512Multiply8(t)
	default:
		avx2Multiply8(t)
	}
}
