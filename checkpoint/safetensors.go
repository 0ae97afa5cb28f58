package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"reflect"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/memory"
	"github.com/residua-go/residua/internal/regular"
)

// chunkBytes is how many bytes are converted at a time; it is a multiple of every element's size.
const chunkBytes = 1 << 16

// File is the content of a safetensors file in memory. Tensors are in the order of their data.
type File struct {
	Tensors  []Tensor
	Metadata map[string]string
}

// Tensor returns the tensor of that name.
func (f *File) Tensor(name string) (Tensor, error) {
	for _, t := range f.Tensors {
		if t.Name == name {
			return t, nil
		}
	}
	return Tensor{}, errors.Errorf("there is no tensor %q among the %d in the file", name, len(f.Tensors))
}

// ReadTensors reads any safetensors file; the data of tensors of other element types than the
// supported ones is [Undecoded]. The error names the file and the problem. ReadTensors does not
// allocate more than the file's actual size and the available memory justify.
func ReadTensors(path string) (*File, error) {
	f, _, err := readFile(path, "")
	return f, err
}

// readFile reads a safetensors file and returns, with its content, the sha256 of its bytes in
// lower-case hex. kind is what a model file must contain; "": any safetensors file.
func readFile(path, kind string) (*File, string, error) {
	in, size, err := regular.Open(path)
	if err != nil {
		return nil, "", err
	}
	return readOpen(in, size, path, kind)
}

// readOpen reads an open file of size bytes and closes it.
func readOpen(in io.ReadCloser, size int64, path, kind string) (*File, string, error) {
	defer in.Close()
	sum := sha256.New()
	f, err := decode(io.TeeReader(in, sum), size)
	if err == nil && kind != "" {
		err = checkMarked(f, kind)
	}
	if err != nil {
		return nil, "", errors.Wrap(err, path)
	}
	return f, hex.EncodeToString(sum.Sum(nil)), nil
}

// decode reads a whole file of size bytes.
func decode(r io.Reader, size int64) (*File, error) {
	raw, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	h, err := parseHeader(raw, size-lengthBytes-int64(len(raw)))
	if err != nil {
		return nil, err
	}
	if err := h.checkMemory(memory.Available()); err != nil {
		return nil, err
	}
	f := &File{Metadata: h.metadata, Tensors: make([]Tensor, 0, len(h.entries))}
	buf := make([]byte, chunkBytes)
	for _, e := range h.entries {
		data, err := e.read(r, buf)
		if err != nil {
			return nil, errors.Wrapf(err, "tensor %q", e.name)
		}
		f.Tensors = append(f.Tensors, Tensor{Name: e.name, Shape: e.shape, Data: data})
	}
	return f, nil
}

func readHeader(r io.Reader, size int64) ([]byte, error) {
	var lead [lengthBytes]byte
	if size < lengthBytes {
		return nil, damagedf("%d bytes are too few for a safetensors file: truncated, or another format", size)
	}
	if _, err := io.ReadFull(r, lead[:]); err != nil {
		return nil, errors.Wrap(err, "header length")
	}
	if what := regular.Kind(lead[:]); what != "" {
		return nil, damagedf("want a safetensors file, but %s", what)
	}
	length := binary.LittleEndian.Uint64(lead[:])
	if length > maxHeaderBytes {
		return nil, damagedf("a header of %d bytes is announced, the format allows %d: damaged, or not a safetensors file", length, maxHeaderBytes)
	}
	if int64(length) > size-lengthBytes {
		return nil, damagedf("a header of %d bytes is announced, %d follow: the file is truncated or damaged", length, size-lengthBytes)
	}
	raw := make([]byte, length)
	_, err := io.ReadFull(r, raw)
	return raw, errors.Wrap(err, "header")
}

// WriteTensors writes a safetensors file, atomically as [WriteFileAtomic] does. It writes the data
// in chunks and never copies all of it. Equal tensors and metadata give equal bytes, whatever the
// order of the tensors.
func WriteTensors(path string, tensors []Tensor, metadata map[string]string) error {
	return WriteFileAtomic(path, func(w io.Writer) error { return EncodeTensors(w, tensors, metadata) })
}

// EncodeTensors writes the bytes of a safetensors file, as [WriteTensors] does.
func EncodeTensors(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	if err := checkTensors(tensors, metadata); err != nil {
		return err
	}
	sorted := layout(tensors)
	raw, err := formatHeader(sorted, metadata)
	if err != nil {
		return err
	}
	lead := binary.LittleEndian.AppendUint64(nil, uint64(len(raw)))
	if _, err := io.Copy(w, bytes.NewReader(append(lead, raw...))); err != nil {
		return errors.WithStack(err)
	}
	buf := make([]byte, chunkBytes)
	for _, t := range sorted {
		if err := writeData(w, t, buf); err != nil {
			return errors.Wrapf(err, "tensor %q", t.Name)
		}
	}
	return nil
}

// read reads the entry's data, which r has next.
func (e entry) read(r io.Reader, buf []byte) (data any, err error) {
	if e.dtype.Size() == 0 {
		_, err = io.CopyN(io.Discard, r, e.end-e.begin)
		return Undecoded{e.dtype}, errors.WithStack(err)
	}
	data = newData(e.dtype, e.elements())
	return data, readData(r, e.dtype, data, int(e.end-e.begin), buf)
}

func newData(d DType, elements int) any {
	switch d {
	case F32, F16, BF16:
		return make([]float32, elements)
	case F64:
		return make([]float64, elements)
	case I32:
		return make([]int32, elements)
	case I64:
		return make([]int64, elements)
	}
	return make([]uint8, elements)
}

// readData fills data, which newData made for elements of type d, with the next total bytes of r.
func readData(r io.Reader, d DType, data any, total int, buf []byte) error {
	elements := reflect.ValueOf(data)
	for at := 0; at < total; at += len(buf) {
		chunk := buf[:min(len(buf), total-at)]
		if _, err := io.ReadFull(r, chunk); err != nil {
			return errors.Wrapf(err, "the data breaks off after byte %d of %d", at, total)
		}
		part := elements.Slice(at/d.Size(), (at+len(chunk))/d.Size()).Interface()
		if d == F16 || d == BF16 {
			decodeHalves(d, part.([]float32), chunk)
		} else if _, err := binary.Decode(chunk, binary.LittleEndian, part); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}

// writeData writes the elements of t in little-endian order.
func writeData(w io.Writer, t Tensor, buf []byte) error {
	t, err := t.loaded()
	if err != nil {
		return err
	}
	return writeChunks(w, t.Data, t.DType().Size(), buf, func(part any) (any, error) {
		numbers, ok := part.(BFloat16s)
		if !ok {
			return part, nil
		}
		halves := make([]uint16, len(numbers))
		for i, v := range numbers {
			halves[i] = uint16(math.Float32bits(v) >> 16)
		}
		return halves, nil
	})
}

// writeChunks writes a slice of elements of size bytes in little-endian order, as many at a time as
// fit in buf, after convert has converted them.
func writeChunks(w io.Writer, data any, size int, buf []byte, convert func(part any) (any, error)) error {
	elements, step := reflect.ValueOf(data), cap(buf)/size
	for at := 0; at < elements.Len(); at += step {
		part, err := convert(elements.Slice(at, min(at+step, elements.Len())).Interface())
		if err != nil {
			return err
		}
		if buf, err = binary.Append(buf[:0], binary.LittleEndian, part); err != nil {
			return errors.WithStack(err)
		}
		if _, err := w.Write(buf); err != nil {
			return errors.WithStack(err)
		}
	}
	return nil
}
