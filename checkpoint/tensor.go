package checkpoint

import (
	"fmt"
	"math"
	"reflect"

	"github.com/pkg/errors"
)

// DType is the element type of a tensor in a file, spelled as in the safetensors format.
type DType string

// Element types that this package reads and, except for F16, writes.
const (
	F32 DType = "F32" // []float32
	F64 DType = "F64" // []float64
	I32 DType = "I32" // []int32
	I64 DType = "I64" // []int64
	U8  DType = "U8"  // []uint8

	// Floating-point numbers of 16 bits are read as []float32, which represents each of them
	// exactly. BFloat16s are written as BF16.
	F16  DType = "F16"
	BF16 DType = "BF16"
)

const supportedDTypes = "F32, F16, BF16, F64, I32, I64, U8"

// Size returns the bytes of one element, 0 for an unknown type.
func (d DType) Size() int {
	switch d {
	case F32, I32:
		return 4
	case F64, I64:
		return 8
	case F16, BF16:
		return 2
	case U8:
		return 1
	}
	return 0
}

// Tensor is a named array. Data is flat and row-major (the last axis varies fastest) and its Go
// type is the element type: []float32, []float64, []int32, []int64, []uint8 or BFloat16s, or
// Deferred to write float32, or Undecoded after reading. An empty Shape is a scalar: one element.
type Tensor struct {
	Name  string
	Shape []int
	Data  any
}

// BFloat16s holds values of bfloat16, each the upper 16 bits of a float32. ToBFloat16s makes them.
type BFloat16s []float32

// ToBFloat16s rounds values to the nearest bfloat16, ties to even.
func ToBFloat16s(values []float32) BFloat16s {
	rounded := make(BFloat16s, len(values))
	for i, v := range values {
		bits := math.Float32bits(v)
		if v == v {
			bits += 0x7fff + bits>>16&1
		} else {
			bits |= 1 << 22 // keeps a NaN a NaN without its lower bits
		}
		rounded[i] = math.Float32frombits(bits &^ 0xffff)
	}
	return rounded
}

// asRead returns the tensor with the type in which it is read from a file: BF16 becomes F32.
func (t Tensor) asRead() Tensor {
	if data, ok := t.Data.(BFloat16s); ok {
		t.Data = []float32(data)
	}
	return t
}

// DType returns the element type of Data, "" for an unknown type.
func (t Tensor) DType() DType {
	switch data := t.Data.(type) {
	case Undecoded:
		return data.Type
	case []float32, Deferred:
		return F32
	case []float64:
		return F64
	case []int32:
		return I32
	case []int64:
		return I64
	case []uint8:
		return U8
	case BFloat16s:
		return BF16
	}
	return ""
}

// Len returns the number of elements in Data, 0 if they are [Undecoded].
func (t Tensor) Len() int {
	if t.DType().Size() == 0 {
		return 0
	}
	if d, ok := t.Data.(Deferred); ok {
		return d.Elements
	}
	return reflect.ValueOf(t.Data).Len()
}

// ElementError reports that a tensor's elements have another type than was asked for.
type ElementError struct{ Tensor, Want, Got string }

// Error returns a text such as `tensor "x": want F32 elements, got F64`.
func (e *ElementError) Error() string {
	return fmt.Sprintf("tensor %q: want %s elements, got %s", e.Tensor, e.Want, e.Got)
}

// Float32s returns Data itself, not a copy; the tensor must be F32.
func (t Tensor) Float32s() ([]float32, error) {
	data, ok := t.Data.([]float32)
	if !ok {
		return nil, &ElementError{t.Name, "F32", t.typeName()}
	}
	return data, nil
}

// Float64s returns the elements as float64: Data itself if the tensor is F64, a copy if it is F32
// (every float32 is a float64). It refuses integers: see [Tensor.Ints].
func (t Tensor) Float64s() ([]float64, error) {
	switch data := t.Data.(type) {
	case []float64:
		return data, nil
	case []float32:
		return convert[float64](data), nil
	}
	return nil, &ElementError{t.Name, "F32 or F64", t.typeName()}
}

// Ints returns a copy of the elements of an I32, I64 or U8 tensor as int. It returns an error for
// an element outside the range of int, which is possible only if int has 32 bits.
func (t Tensor) Ints() ([]int, error) {
	switch data := t.Data.(type) {
	case []int32:
		return convert[int](data), nil
	case []uint8:
		return convert[int](data), nil
	case []int64:
		for i, v := range data {
			if v < math.MinInt || v > math.MaxInt {
				return nil, errors.Errorf("tensor %q: element %d is %d, which does not fit an int here", t.Name, i, v)
			}
		}
		return convert[int](data), nil
	}
	return nil, &ElementError{t.Name, "I32, I64 or U8", t.typeName()}
}

func convert[To, From float32 | float64 | int | int32 | int64 | uint8](from []From) []To {
	to := make([]To, len(from))
	for i, v := range from {
		to[i] = To(v)
	}
	return to
}

func (t Tensor) typeName() string {
	if d := t.DType(); d != "" {
		return string(d)
	}
	return "data of an unsupported Go type"
}

// validate returns an error if the tensor cannot be written.
func (t Tensor) validate() error {
	switch {
	case t.Name == "":
		return errors.New("a tensor has no name: name it")
	case t.Name == metadataKey:
		return errors.Errorf("tensor name %q is reserved by the file format: choose another", t.Name)
	case t.DType().Size() == 0:
		return errors.Errorf("tensor %q: Data is a %T: want a slice of float32, float64, int32, int64 or uint8, or BFloat16s", t.Name, t.Data)
	case len(t.Shape) > maxRank:
		return errors.Errorf("tensor %q: %d axes: want at most %d", t.Name, len(t.Shape), maxRank)
	}
	if err := checkText("tensor name", t.Name); err != nil {
		return err
	}
	elements, err := elementsOf(t.Shape)
	if err != nil {
		return errors.Wrapf(err, "tensor %q", t.Name)
	}
	if elements != t.Len() {
		return errors.Errorf("tensor %q: shape %v has %d elements, Data has %d", t.Name, t.Shape, elements, t.Len())
	}
	return nil
}

// elementsOf returns the product of the axes; it refuses negative axes and products outside the
// range of int.
func elementsOf(shape []int) (int, error) {
	elements := 1
	for _, axis := range shape {
		if axis < 0 {
			return 0, errors.Errorf("shape %v: want axes >= 0", shape)
		}
		if axis > 0 && elements > math.MaxInt/axis {
			return 0, errors.Errorf("shape %v: more than %d elements", shape, math.MaxInt)
		}
		elements *= axis
	}
	return elements, nil
}
