package checkpoint

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/pkg/errors"
)

// GGUFEntry is an entry of a GGUF file's metadata. Value is a string, uint32, float32, bool, []string or []int32.
type GGUFEntry struct {
	Key   string
	Value any
}

// Numbers of the GGUF format, version 3.
const (
	ggufVersion   uint32 = 3
	ggufAlignment int    = 32

	ggufUint32  uint32 = 4
	ggufInt32   uint32 = 5
	ggufFloat32 uint32 = 6
	ggufBool    uint32 = 7
	ggufString  uint32 = 8
	ggufArray   uint32 = 9

	ggufF32 uint32 = 0
	ggufF16 uint32 = 1
)

// EncodeGGUF writes a GGUF file's bytes, as llama.cpp reads them: metadata, then F32 tensors in their order. A tensor that
// half is true of is written as F16, rounded to the nearest; nil: none is. A finite element that F16 has not is an error.
func EncodeGGUF(w io.Writer, metadata []GGUFEntry, tensors []Tensor, half func(Tensor) bool) error {
	if err := checkTensors(tensors, nil); err != nil {
		return err
	}
	header, err := ggufHeader(metadata, tensors, half)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return errors.WithStack(err)
	}
	buf := make([]byte, 0, chunkBytes)
	for _, t := range tensors {
		_, size, convert := ggufKind(t, half)
		err := writeChunks(w, t.Data, size, buf, convert)
		if err == nil {
			_, err = w.Write(make([]byte, padded(size*t.Len())-size*t.Len()))
		}
		if err != nil {
			return errors.Wrapf(err, "tensor %q", t.Name)
		}
	}
	return nil
}

// ggufHeader is all that is before the tensors' data, padded.
func ggufHeader(metadata []GGUFEntry, tensors []Tensor, half func(Tensor) bool) ([]byte, error) {
	h := ggufText{}
	h.put([]byte("GGUF"), ggufVersion, uint64(len(tensors)), uint64(len(metadata)))
	for _, e := range metadata {
		h.text(e.Key)
		if err := h.value(e.Value); err != nil {
			return nil, errors.Wrapf(err, "metadata %s", e.Key)
		}
	}
	offset := 0
	for _, t := range tensors {
		if _, err := t.Float32s(); err != nil {
			return nil, err
		}
		kind, size, _ := ggufKind(t, half)
		h.text(t.Name)
		h.put(uint32(len(t.Shape)))
		for _, axis := range slices.Backward(t.Shape) { // the one that varies fastest first
			h.put(uint64(axis))
		}
		h.put(kind, uint64(offset))
		offset += padded(size * t.Len())
	}
	h.Write(make([]byte, padded(h.Len())-h.Len()))
	return h.Bytes(), nil
}

// padded is a number of bytes with those up to the next aligned place.
func padded(n int) int { return (n + ggufAlignment - 1) / ggufAlignment * ggufAlignment }

// ggufText is a header that is being written.
type ggufText struct{ bytes.Buffer }

// put writes numbers and bytes, little-endian.
func (h *ggufText) put(values ...any) {
	for _, v := range values {
		_ = binary.Write(h, binary.LittleEndian, v) // a buffer takes all
	}
}

func (h *ggufText) text(s string) { h.put(uint64(len(s)), []byte(s)) }

// value writes the type of a value, and the value.
func (h *ggufText) value(v any) error {
	switch v := v.(type) {
	case string:
		h.put(ggufString)
		h.text(v)
	case uint32:
		h.put(ggufUint32, v)
	case float32:
		h.put(ggufFloat32, v)
	case bool:
		h.put(ggufBool, v)
	case []string:
		h.put(ggufArray, ggufString, uint64(len(v)))
		for _, s := range v {
			h.text(s)
		}
	case []int32:
		h.put(ggufArray, ggufInt32, uint64(len(v)), v)
	default:
		return errors.Errorf("want a string, uint32, float32, bool, []string or []int32, got %T", v)
	}
	return nil
}

// ggufKind is the type of a tensor's elements, how many bytes one takes, and what makes such elements of float32s.
func ggufKind(t Tensor, half func(Tensor) bool) (kind uint32, size int, convert func(any) (any, error)) {
	if half == nil || !half(t) {
		return ggufF32, 4, func(part any) (any, error) { return part, nil }
	}
	return ggufF16, 2, func(part any) (any, error) {
		numbers := part.([]float32)
		halves := make([]uint16, len(numbers))
		for i, v := range numbers {
			halves[i] = toFloat16(v)
			if math.IsInf(float64(fromFloat16(halves[i])), 0) && !math.IsInf(float64(v), 0) {
				return nil, errors.Errorf("want elements of F16, which end at 65504, got %g: write F32", v)
			}
		}
		return halves, nil
	}
}
