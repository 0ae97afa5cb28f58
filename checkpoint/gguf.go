package checkpoint

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"

	"github.com/pkg/errors"
)

// GGUFEntry is an entry of a GGUF file's metadata. Value is a string, uint32, float32, bool,
// []string, []int32 or []float32.
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
)

// EncodeGGUF writes a GGUF file as llama.cpp reads it: the metadata, then the tensors, which hold
// float32, in the given order. as returns the type in which a tensor's elements are written; nil:
// GGUFF32 for all. A finite number that the type cannot hold is an error.
func EncodeGGUF(w io.Writer, metadata []GGUFEntry, tensors []Tensor, as func(Tensor) GGUFType) error {
	if err := checkTensors(tensors, nil); err != nil {
		return err
	}
	if as == nil {
		as = func(Tensor) GGUFType { return GGUFF32 }
	}
	header, err := ggufHeader(metadata, tensors, as)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return errors.WithStack(err)
	}
	buf := make([]byte, 0, chunkBytes)
	for _, t := range tensors {
		kind := as(t)
		err := writeChunks(w, t.Data, 4, buf, kind.elements)
		if err == nil {
			bytes := kind.bytes(t)
			_, err = w.Write(make([]byte, padded(bytes)-bytes))
		}
		if err != nil {
			return errors.Wrapf(err, "tensor %q", t.Name)
		}
	}
	return nil
}

// ggufHeader returns everything before the tensors' data, padded.
func ggufHeader(metadata []GGUFEntry, tensors []Tensor, as func(Tensor) GGUFType) ([]byte, error) {
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
		kind := as(t)
		if err := kind.check(t); err != nil {
			return nil, err
		}
		h.text(t.Name)
		h.put(uint32(len(t.Shape)))
		for _, axis := range slices.Backward(t.Shape) { // the one that varies fastest first
			h.put(uint64(axis))
		}
		h.put(uint32(kind), uint64(offset))
		offset += padded(kind.bytes(t))
	}
	h.Write(make([]byte, padded(h.Len())-h.Len()))
	return h.Bytes(), nil
}

// padded rounds a number of bytes up to the next aligned place.
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
	case []float32:
		h.put(ggufArray, ggufFloat32, uint64(len(v)), v)
	default:
		return errors.Errorf("want a string, uint32, float32, bool, []string, []int32 or []float32, got %T", v)
	}
	return nil
}
