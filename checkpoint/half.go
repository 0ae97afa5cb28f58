package checkpoint

import (
	"encoding/binary"
	"math"
)

// decodeHalves turns chunk, little-endian elements of type F16 or BF16, into the first elements of out.
func decodeHalves(d DType, out []float32, chunk []byte) {
	for i := range len(chunk) / 2 {
		bits := binary.LittleEndian.Uint16(chunk[2*i:])
		if d == BF16 { // the upper half of a float32
			out[i] = math.Float32frombits(uint32(bits) << 16)
		} else {
			out[i] = fromFloat16(bits)
		}
	}
}

// fromFloat16 is the float32 of IEEE 754's binary16: a sign, 5 bits of exponent with bias 15, 10 bits of fraction.
func fromFloat16(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, uint32(bits>>10)&31, uint32(bits)&1023
	switch exponent {
	case 0: // subnormal: fraction * 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	case 31: // infinite or not a number
		return math.Float32frombits(sign | 255<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}
