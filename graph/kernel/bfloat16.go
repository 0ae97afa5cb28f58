package kernel

import "math"

// BFloat16 is a bfloat16, the upper 16 bits of a float32: 8 bits of exponent, 7 of fraction.
type BFloat16 uint16

// Float32 returns x, exactly.
func (x BFloat16) Float32() float32 { return math.Float32frombits(uint32(x) << 16) }

// toBFloat16 rounds x to the nearest bfloat16; of two equally near, to the one whose last bit is 0.
// Numbers that are too large become infinite. Denormal numbers are rounded as others are. A NaN
// stays a NaN and keeps its upper bits.
func toBFloat16(x float32) BFloat16 {
	bits := math.Float32bits(x)
	if x != x {
		return BFloat16(bits>>16 | 1<<6) // makes the NaN quiet
	}
	return BFloat16((bits + 0x7fff + bits>>16&1) >> 16)
}

// RoundBFloat16 does dst[i] = toBFloat16(src[i]). The slices have the same length.
func RoundBFloat16(dst []BFloat16, src []float32) { roundBFloat16(machinePath, dst, src) }

// bfloat16Step: the fast forms of the functions below work on multiples of this number of elements.
const bfloat16Step = 16

func roundBFloat16(p path, dst []BFloat16, src []float32) {
	dst = dst[:len(src)]
	whole := 0
	if p != portable && len(src) >= bfloat16Step {
		whole = len(src) / bfloat16Step * bfloat16Step
		fastRoundBFloat16(p, dst, src, whole)
	}
	for i := whole; i < len(src); i++ {
		dst[i] = toBFloat16(src[i])
	}
}

// widenBFloat16 does dst[i] = src[i].Float32(). The slices have the same length.
func widenBFloat16(p path, dst []float32, src []BFloat16) {
	dst = dst[:len(src)]
	whole := 0
	if p != portable && len(src) >= bfloat16Step {
		whole = len(src) / bfloat16Step * bfloat16Step
		fastWidenBFloat16(p, dst, src, whole)
	}
	for i := whole; i < len(src); i++ {
		dst[i] = src[i].Float32()
	}
}

// interleave makes pairs of the elements of two rows: dst = even[0], odd[0], even[1], odd[1] ... If
// odd is nil, its elements are taken as zero.
func interleave(p path, dst, even, odd []BFloat16) {
	dst = dst[:2*len(even)]
	if odd == nil {
		for i, x := range even {
			dst[2*i], dst[2*i+1] = x, 0
		}
		return
	}
	odd = odd[:len(even)]
	whole := 0
	if p != portable && len(even) >= bfloat16Step {
		whole = len(even) / bfloat16Step * bfloat16Step
		fastInterleave(p, dst, even, odd, whole)
	}
	for i := whole; i < len(even); i++ {
		dst[2*i], dst[2*i+1] = even[i], odd[i]
	}
}
