package checkpoint

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"

	"github.com/pkg/errors"
)

// GGUFEntry is an entry of a GGUF file's metadata. Value is a string, uint32, float32, bool, []string or []int32.
type GGUFEntry struct {
	Key   string
	Value any
}

// Numbers of the GGUF format, version 3.
const (
	ggufVersion   = 3
	ggufAlignment = 32

	ggufUint32  = 4
	ggufInt32   = 5
	ggufFloat32 = 6
	ggufBool    = 7
	ggufString  = 8
	ggufArray   = 9

	ggufF32 = 0
	ggufF16 = 1
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
		if err := writeGGUF(w, t.Data.([]float32), half != nil && half(t), buf); err != nil {
			return errors.Wrapf(err, "tensor %q", t.Name)
		}
	}
	return nil
}

// ggufHeader is all that is before the tensors' data, padded.
func ggufHeader(metadata []GGUFEntry, tensors []Tensor, half func(Tensor) bool) ([]byte, error) {
	h := ggufText{}
	h.WriteString("GGUF")
	h.uint32(ggufVersion)
	h.uint64(len(tensors))
	h.uint64(len(metadata))
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
		kind, size := uint32(ggufF32), 4
		if half != nil && half(t) {
			kind, size = ggufF16, 2
		}
		h.text(t.Name)
		h.uint32(uint32(len(t.Shape)))
		for axis := len(t.Shape) - 1; axis >= 0; axis-- { // the one that varies fastest first
			h.uint64(t.Shape[axis])
		}
		h.uint32(kind)
		h.uint64(offset)
		offset += padded(size * t.Len())
	}
	h.Write(make([]byte, padded(h.Len())-h.Len()))
	return h.Bytes(), nil
}

// padded is a number of bytes with those up to the next aligned place.
func padded(n int) int { return (n + ggufAlignment - 1) / ggufAlignment * ggufAlignment }

// ggufText is a header that is being written.
type ggufText struct{ bytes.Buffer }

func (h *ggufText) uint32(v uint32) { h.Write(binary.LittleEndian.AppendUint32(nil, v)) }
func (h *ggufText) uint64(v int)    { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v))) }

func (h *ggufText) text(s string) {
	h.uint64(len(s))
	h.WriteString(s)
}

// value writes the type of a value, and the value.
func (h *ggufText) value(v any) error {
	switch v := v.(type) {
	case string:
		h.uint32(ggufString)
		h.text(v)
	case uint32:
		h.uint32(ggufUint32)
		h.uint32(v)
	case float32:
		h.uint32(ggufFloat32)
		h.uint32(math.Float32bits(v))
	case bool:
		h.uint32(ggufBool)
		h.WriteByte(map[bool]byte{true: 1}[v])
	case []string:
		h.uint32(ggufArray)
		h.uint32(ggufString)
		h.uint64(len(v))
		for _, s := range v {
			h.text(s)
		}
	case []int32:
		h.uint32(ggufArray)
		h.uint32(ggufInt32)
		h.uint64(len(v))
		for _, n := range v {
			h.uint32(uint32(n))
		}
	default:
		return errors.Errorf("want a string, uint32, float32, bool, []string or []int32, got %T", v)
	}
	return nil
}

// writeGGUF writes a tensor's elements, padded.
func writeGGUF(w io.Writer, data []float32, half bool, buf []byte) error {
	written := 0
	for len(data) > 0 {
		n := min(len(data), cap(buf)/4)
		buf = buf[:0]
		for _, v := range data[:n] {
			if half {
				bits := toFloat16(v)
				if math.IsInf(float64(fromFloat16(bits)), 0) && !math.IsInf(float64(v), 0) {
					return errors.Errorf("want elements of F16, which end at 65504, got %g: write F32", v)
				}
				buf = binary.LittleEndian.AppendUint16(buf, bits)
			} else {
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
			}
		}
		if _, err := w.Write(buf); err != nil {
			return errors.WithStack(err)
		}
		written, data = written+len(buf), data[n:]
	}
	_, err := w.Write(make([]byte, padded(written)-written))
	return errors.WithStack(err)
}
