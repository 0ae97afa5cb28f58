package graph

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// checkTypes checks that inputs are float32 or float64, all of one type, and Int32 where k says so.
func checkTypes(k Primitive, in []Signature) error {
	var first *Signature // of floats
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

// WantDims checks an input's number of axes; axes names them in the message.
func WantDims(s Signature, dims int, what, axes string) error {
	if s.Shape.Dims() != dims {
		return errors.Errorf("%s: want shape %s, got %v", what, axes, s.Shape)
	}
	return nil
}

// wantPositive checks the shape of an input or a parameter.
func wantPositive(shape []int) error {
	if len(shape) == 0 || slices.Min(shape) < 1 {
		return errors.Errorf("want at least one axis, each at least 1, got %v", shape)
	}
	return nil
}

// WithTokens is the shape [tokens, rest...].
func WithTokens(tokens int, rest ...int) tensor.Shape {
	return append(tensor.Shape{tokens}, rest...)
}

// product multiplies the axes of a shape that sizeOf accepts.
func product(axes []int) int {
	n := 1
	for _, d := range axes {
		n *= d
	}
	return n
}

// maxEntries is more than any machine's memory holds, and so few that sums of their bytes
// over all nodes of a graph stay far below the largest int.
const maxEntries = 1 << 44

// sizeOf is product, which refuses what no machine can hold.
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
