package checkpoint

import (
	"encoding/binary"
	"math"

	"github.com/pkg/errors"
)

// GGUFType is the type in which a GGUF file stores a tensor's elements.
type GGUFType uint32

// The types that this package writes.
const (
	GGUFF32  GGUFType = 0
	GGUFF16  GGUFType = 1
	GGUFQ8   GGUFType = 8 // Q8_0: 32 neighbours in a row are 8-bit integers times a common F16 scale
	GGUFBF16 GGUFType = 30
)

// Q8Block is the number of entries of a row that share a scale of GGUFQ8.
const Q8Block = 32

// q8Bytes is the size of a block: its scale and its integers.
const q8Bytes = 2 + Q8Block

// check returns an error unless the tensor holds float32 and its rows divide into whole blocks.
func (k GGUFType) check(t Tensor) error {
	if _, err := t.Float32s(); err != nil {
		return err
	}
	switch k {
	case GGUFF32, GGUFF16, GGUFBF16:
		return nil
	case GGUFQ8:
		if last := len(t.Shape) - 1; last < 0 || t.Shape[last]%Q8Block != 0 {
			return errors.Errorf("tensor %q: want rows of a multiple of %d for Q8_0, got the shape %v: write F16", t.Name, Q8Block, t.Shape)
		}
		return nil
	}
	return errors.Errorf("tensor %q: want the type F32, F16, Q8_0 or BF16 of GGUF, got the number %d", t.Name, k)
}

// bytes returns the number of bytes that a tensor takes.
func (k GGUFType) bytes(t Tensor) int {
	switch k {
	case GGUFF32:
		return 4 * t.Len()
	case GGUFQ8:
		return t.Len() / Q8Block * q8Bytes
	}
	return 2 * t.Len()
}

// elements converts whole blocks of float32 to a file's elements.
func (k GGUFType) elements(part any) (any, error) {
	numbers := part.([]float32)
	switch k {
	case GGUFF16:
		return float16s(numbers)
	case GGUFBF16:
		return bfloat16Bits(numbers)
	case GGUFQ8:
		return q8Blocks(numbers)
	}
	return numbers, nil
}

// float16s rounds numbers to the nearest F16.
func float16s(numbers []float32) ([]uint16, error) {
	halves := make([]uint16, len(numbers))
	for i, v := range numbers {
		halves[i] = toFloat16(v)
		if math.IsInf(float64(fromFloat16(halves[i])), 0) && !math.IsInf(float64(v), 0) {
			return nil, errors.Errorf("want elements of F16, which end at 65504, got %g: write F32", v)
		}
	}
	return halves, nil
}

// bfloat16Bits rounds numbers to the nearest bfloat16.
func bfloat16Bits(numbers []float32) ([]uint16, error) {
	halves := make([]uint16, len(numbers))
	for i, v := range ToBFloat16s(numbers) {
		halves[i] = uint16(math.Float32bits(v) >> 16)
		if math.IsInf(float64(v), 0) && !math.IsInf(float64(numbers[i]), 0) {
			return nil, errors.Errorf("want elements of BF16, which end at 3.39e38, got %g: write F32", numbers[i])
		}
	}
	return halves, nil
}

// q8Blocks converts numbers to blocks of Q8_0, as ggml does. The scale is the largest magnitude
// over 127. Each integer is the number divided by the unrounded scale, rounded to the nearest
// integer, halves away from 0; then the scale is rounded to F16.
func q8Blocks(numbers []float32) ([]byte, error) {
	blocks := make([]byte, 0, len(numbers)/Q8Block*q8Bytes)
	for ; len(numbers) > 0; numbers = numbers[Q8Block:] {
		largest := float32(0)
		for _, v := range numbers[:Q8Block] {
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		scale, inverse := largest/127, float32(0)
		half := toFloat16(scale)
		if !(fromFloat16(half) <= 65504) {
			return nil, errors.Errorf("want a block of Q8_0 whose scale is an F16, up to 65504, got the scale %g: write F32", scale)
		}
		if half != 0 { // else all of the block is 0
			inverse = 1 / scale
		}
		blocks = binary.LittleEndian.AppendUint16(blocks, half)
		for _, v := range numbers[:Q8Block] {
			blocks = append(blocks, byte(int8(math.Round(float64(v*inverse)))))
		}
	}
	return blocks, nil
}
