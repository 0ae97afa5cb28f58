package graph

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"
)

// WantFloats checks that the inputs are float32 or float64, all of one type.
func WantFloats(in []Signature) error {
	for i, s := range in {
		if s.DType != tensor.Float32 && s.DType != tensor.Float64 {
			return errors.Errorf("input %d: want float32 or float64, got %v", i, s.DType)
		}
		if s.DType != in[0].DType {
			return errors.Errorf("input %d: want %v as input 0, got %v", i, in[0].DType, s.DType)
		}
	}
	return nil
}

// WantInts checks that input i holds Int32.
func WantInts(in []Signature, i int, what string) error {
	if in[i].DType != tensor.Int32 {
		return errors.Errorf("%s: want int32, got %v", what, in[i].DType)
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
