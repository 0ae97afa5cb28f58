package checkpoint

import (
	"encoding/binary"
	"math"
)

// decodeHalves decodes chunk, little-endian elements of type F16 or BF16, into out.
func decodeHalves(d DType, out []float32, chunk []byte) {
	for i := range out {
		bits := binary.LittleEndian.Uint16(chunk[2*i:])
		if d == BF16 { // the upper half of a float32
			out[i] = math.Float32frombits(uint32(bits) << 16)
		} else {
			out[i] = fromFloat16(bits)
		}
	}
}

// fromFloat16 converts IEEE 754's binary16 to float32: a sign, 5 bits of exponent with bias 15, 10
// bits of fraction.
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

// toFloat16 rounds v to the nearest binary16, ties to even; it returns infinity from 65520 on.
func toFloat16(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, magnitude := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case magnitude > 255<<23: // NaN
		return sign | 0x7e00
	case magnitude >= (127+16)<<23:
		return sign | 0x7c00
	case magnitude < (127-14)<<23: // subnormal: a multiple of 2^-24
		scaled := math.RoundToEven(float64(math.Float32frombits(magnitude)) * (1 << 24))
		return sign | uint16(scaled)
	}
	rounded := magnitude + 0xfff + magnitude>>13&1 // a carry continues into the exponent, up to infinity
	return sign | uint16(rounded>>13-(127-15)<<10)
}
