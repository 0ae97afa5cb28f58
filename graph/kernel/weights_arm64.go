package kernel

// runFast runs the micro-kernel of a format: a product, or unpacking.
func (t *weightsTile) runFast(_ path, format WeightFormat, unpack bool) {
	switch {
	case format == WeightsBF16 && unpack:
		neonUnpack16(t)
	case format == WeightsBF16:
		neonMultiply16(t)
	case unpack:
		neonUnpack8(t)
	default:
		neonMultiply8(t)
	}
}
