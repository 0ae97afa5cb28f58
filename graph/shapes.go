package graph

import (
	"math"
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// checkTypes checks that the inputs are float32 or float64, all of the same type, or Int32 if k
// reads that input as integers.
func checkTypes(k Primitive, in []Signature) error {
	var first *Signature // the first float input
	for i, s := range in {
		if reader, ok := k.(IntReader); ok && reader.ReadsInts(i) {
			if s.DType != tensor.Int32 {
				return errors.Errorf("input %d: want int32, got %v", i, s.DType)
			}
			continue
		}
		if s.DType != tensor.Float32 && s.DType != tensor.Float64 {
			return errors.Errorf("input %d: want float32 or float64, got %v", i, s.DType)
		}
		if first == nil {
			first = &in[i]
		}
		if s.DType != first.DType {
			return errors.Errorf("input %d: want %v as the floats before it, got %v", i, first.DType, s.DType)
		}
	}
	return nil
}

// WantDims checks an input's number of axes; axes names them for the error message.
func WantDims(s Signature, dims int, what, axes string) error {
	if s.Shape.Dims() != dims {
		return errors.Errorf("%s: want shape %s, got %v", what, axes, s.Shape)
	}
	return nil
}

// wantPositive checks that all sizes in the shape of an input or a parameter are positive.
func wantPositive(shape []int) error {
	if len(shape) == 0 || slices.Min(shape) < 1 {
		return errors.Errorf("want at least one axis, each at least 1, got %v", shape)
	}
	return nil
}

// WithTokens returns the shape [tokens, rest...].
func WithTokens(tokens int, rest ...int) tensor.Shape {
	return append(tensor.Shape{tokens}, rest...)
}

// product multiplies the sizes of a shape that sizeOf accepts.
func product(axes []int) int {
	n := 1
	for _, d := range axes {
		n *= d
	}
	return n
}

// maxEntries limits the entries of a tensor. It exceeds any machine's memory, and is small enough
// that the bytes of all nodes of a graph sum without overflow.
const maxEntries = min(1<<44, math.MaxInt>>4)

// sizeOf returns the product of a shape's sizes, or an error if no machine can hold that many
// entries.
func sizeOf(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > maxEntries/d {
			return 0, errors.Errorf("shape %v: want at most %d entries, which is more than any machine's memory holds", shape, maxEntries)
		}
		n *= d
	}
	return n, nil
}
