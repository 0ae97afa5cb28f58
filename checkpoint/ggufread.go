package checkpoint

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/regular"
)

// GGUF is the content of a GGUF file in memory.
type GGUF struct {
	Values  map[string]any // metadata: uint64, int64, float64, bool or string; of a list, []string or []float64
	Tensors []Tensor       // float32
}

// ggufReader reads a header of a file of which rest bytes are left.
type ggufReader struct {
	in   *bufio.Reader
	rest int64
}

// maxGGUFText limits the length of a name or a text that is kept.
const maxGGUFText = 1 << 16

// ReadGGUF reads a GGUF file of version 2 or 3 whose tensors are F32, F16, BF16 or Q8_0; they
// become float32. It takes no more memory than the file's size justifies.
func ReadGGUF(path string) (*GGUF, error) {
	in, size, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	g, err := decodeGGUF(in, size)
	return g, errors.Wrap(err, path)
}

// ggufPlace says where a tensor's elements are.
type ggufPlace struct {
	Tensor
	kind   GGUFType
	offset int64
}

// ReadGGUFValues reads the metadata of a GGUF file, and returns the file's size.
func ReadGGUFValues(path string) (values map[string]any, size int64, err error) {
	in, size, err := regular.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	values, _, err = newGGUFReader(in, size).values()
	return values, size, errors.Wrap(err, path)
}

func newGGUFReader(in io.ReaderAt, size int64) *ggufReader {
	return &ggufReader{bufio.NewReader(io.NewSectionReader(in, 0, size)), size}
}

// values reads up to the end of the metadata, and returns it and the number of tensors.
func (r *ggufReader) values() (values map[string]any, tensors uint64, err error) {
	magic, err := r.bytes(4)
	if err != nil || string(magic) != "GGUF" {
		return nil, 0, damagedf("want a GGUF file, got another kind")
	}
	version, err := r.number(4)
	if err == nil && version != 2 && version != 3 {
		return nil, 0, errors.Errorf("want version 2 or 3 of GGUF, got %d", version)
	}
	tensors, err1 := r.number(8)
	entries, err2 := r.number(8)
	if err := firstOf(err, err1, err2); err != nil {
		return nil, 0, err
	}
	values = map[string]any{}
	for range entries {
		key, err := r.text()
		if err == nil {
			values[key], err = r.value()
		}
		if err != nil {
			return nil, 0, errors.WithMessage(err, "metadata")
		}
	}
	return values, tensors, nil
}

func decodeGGUF(in io.ReaderAt, size int64) (*GGUF, error) {
	r := newGGUFReader(in, size)
	values, tensors, err := r.values()
	if err != nil {
		return nil, err
	}
	g := &GGUF{Values: values}
	const least = 24 // bytes of a place
	places := make([]ggufPlace, 0, min(tensors, uint64(r.rest)/least))
	for range tensors {
		p, err := r.place()
		if err != nil {
			return nil, err
		}
		places = append(places, p)
	}
	align := int64(ggufAlignment)
	if a, ok := g.Values["general.alignment"].(uint64); ok && a > 0 && a <= 1<<20 {
		align = int64(a)
	}
	start := (size - r.rest + align - 1) / align * align
	total, buf := int64(0), make([]byte, chunkBytes)
	g.Tensors = make([]Tensor, 0, len(places))
	for _, p := range places {
		n, elements := p.size()
		if p.offset < 0 || n > size-start || p.offset > size-start-n {
			return nil, damagedf("tensor %q: want %d bytes from byte %d of the data, the file has %d: truncated or damaged", p.Name, n, p.offset, size-start)
		}
		if total += n; total > size { // tensors that overlap
			return nil, damagedf("tensors of more bytes than the file's %d", size)
		}
		if p.Data, err = p.kind.decode(io.NewSectionReader(in, start+p.offset, n), elements, buf); err != nil {
			return nil, errors.Wrapf(err, "tensor %q", p.Name)
		}
		g.Tensors = append(g.Tensors, p.Tensor)
	}
	return g, nil
}

// firstOf returns the first error.
func firstOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

// bytes returns the next n bytes.
func (r *ggufReader) bytes(n uint64) ([]byte, error) {
	if r.rest < 0 || n > uint64(r.rest) {
		return nil, damagedf("want %d bytes, got %d: truncated or damaged", n, r.rest)
	}
	r.rest -= int64(n)
	b := make([]byte, n)
	_, err := io.ReadFull(r.in, b)
	return b, errors.WithStack(err)
}

// number reads an unsigned number of n bytes.
func (r *ggufReader) number(n uint64) (uint64, error) {
	if n > uint64(max(0, r.rest)) {
		_, err := r.bytes(n)
		return 0, err
	}
	r.rest -= int64(n)
	whole, err := r.in.Peek(int(n))
	number := uint64(0)
	for i, b := range whole {
		number |= uint64(b) << (8 * i)
	}
	_, _ = r.in.Discard(len(whole))
	return number, errors.WithStack(err)
}

func (r *ggufReader) text() (string, error) {
	n, err := r.number(8)
	if err != nil {
		return "", err
	}
	if n > maxGGUFText {
		return "", r.skip(n)
	}
	b, err := r.bytes(n)
	return string(b), err
}

// skip passes over n bytes.
func (r *ggufReader) skip(n uint64) error {
	if n > uint64(r.rest) {
		return damagedf("want %d bytes, got %d: truncated or damaged", n, r.rest)
	}
	r.rest -= int64(n)
	_, err := io.CopyN(io.Discard, r.in, int64(n))
	return errors.WithStack(err)
}

// ggufSize returns the bytes of a number of a type, 0 for what is no number.
func ggufSize(kind uint64) uint64 {
	sizes := [...]uint64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}
	if kind >= uint64(len(sizes)) {
		return 0
	}
	return sizes[kind]
}

// value reads a value.
func (r *ggufReader) value() (any, error) {
	kind, err := r.number(4)
	if err != nil {
		return nil, err
	}
	if kind == uint64(ggufArray) {
		return r.list()
	}
	return r.scalar(kind)
}

func (r *ggufReader) scalar(kind uint64) (any, error) {
	if kind == uint64(ggufString) {
		return r.text()
	}
	if ggufSize(kind) == 0 {
		return nil, damagedf("want a type of GGUF, got the number %d", kind)
	}
	size := ggufSize(kind)
	n, err := r.number(size)
	switch kind {
	case 1, 3, 5, 11: // signed
		free := 64 - 8*size
		return int64(n<<free) >> free, err
	case uint64(ggufFloat32):
		return float64(math.Float32frombits(uint32(n))), err
	case 12:
		return math.Float64frombits(n), err
	case uint64(ggufBool):
		return n != 0, err
	}
	return n, err
}

// list reads a list of texts, or of numbers, which become float64.
func (r *ggufReader) list() (any, error) {
	kind, err1 := r.number(4)
	n, err2 := r.number(8)
	if err := firstOf(err1, err2); err != nil {
		return nil, err
	}
	least := ggufSize(kind) // bytes of an element
	if kind == uint64(ggufString) {
		least = 8
	}
	if least == 0 || n > uint64(r.rest)/least {
		return nil, damagedf("want a list of numbers or texts in the file's last %d bytes, got %d of type %d: truncated or damaged", r.rest, n, kind)
	}
	if kind == uint64(ggufString) {
		texts := make([]string, n)
		for i := range texts {
			var err error
			if texts[i], err = r.text(); err != nil {
				return nil, err
			}
		}
		return texts, nil
	}
	numbers := make([]float64, n)
	for i := range numbers {
		v, err := r.scalar(kind)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case uint64:
			numbers[i] = float64(v)
		case int64:
			numbers[i] = float64(v)
		case float64:
			numbers[i] = v
		}
	}
	return numbers, nil
}

// place reads the description of a tensor.
func (r *ggufReader) place() (ggufPlace, error) {
	var p ggufPlace
	var err error
	if p.Name, err = r.text(); err != nil {
		return p, err
	}
	axes, err := r.number(4)
	if err == nil && axes > 4 {
		err = damagedf("tensor %q: want at most 4 axes, got %d", p.Name, axes)
	}
	if err != nil {
		return p, err
	}
	for range axes {
		axis, err := r.number(8)
		if err != nil || axis > math.MaxInt32 {
			return p, damagedf("tensor %q: want axes up to %d, got %d", p.Name, math.MaxInt32, axis)
		}
		p.Shape = append(p.Shape, int(axis))
	}
	slices.Reverse(p.Shape)
	kind, err1 := r.number(4)
	offset, err2 := r.number(8)
	p.kind, p.offset = GGUFType(kind), int64(offset)
	if err := firstOf(err1, err2); err != nil {
		return p, err
	}
	switch p.kind {
	case GGUFF32, GGUFF16, GGUFBF16:
	case GGUFQ8:
		if last := len(p.Shape) - 1; last < 0 || p.Shape[last]%Q8Block != 0 {
			return p, damagedf("tensor %q: want rows of a multiple of %d for Q8_0, got the shape %v", p.Name, Q8Block, p.Shape)
		}
	default:
		return p, errors.Errorf("tensor %q: want F32, F16, BF16 or Q8_0, got type %d of ggml: other quantized types are not read", p.Name, kind)
	}
	_, err = elementsOf(p.Shape)
	return p, errors.Wrapf(err, "tensor %q", p.Name)
}

// size returns the bytes and the number of the elements.
func (p ggufPlace) size() (bytes int64, elements int) {
	elements, _ = elementsOf(p.Shape) // place has checked it
	switch p.kind {
	case GGUFF32:
		return 4 * int64(min(elements, math.MaxInt/8)), elements
	case GGUFQ8:
		return int64(elements/Q8Block) * q8Bytes, elements
	}
	return 2 * int64(min(elements, math.MaxInt/8)), elements
}

// decode reads elements of the type, by way of buf.
func (k GGUFType) decode(r io.Reader, elements int, buf []byte) ([]float32, error) {
	data := make([]float32, elements)
	switch k {
	case GGUFF32:
		return data, readData(r, F32, data, 4*elements, buf)
	case GGUFF16:
		return data, readData(r, F16, data, 2*elements, buf)
	case GGUFBF16:
		return data, readData(r, BF16, data, 2*elements, buf)
	}
	for at := 0; at < elements; {
		blocks := buf[:min(len(buf)/q8Bytes, (elements-at)/Q8Block)*q8Bytes]
		if _, err := io.ReadFull(r, blocks); err != nil {
			return nil, errors.WithStack(err)
		}
		for ; len(blocks) > 0; blocks, at = blocks[q8Bytes:], at+Q8Block {
			scale := fromFloat16(binary.LittleEndian.Uint16(blocks))
			for i, q := range blocks[2:q8Bytes] {
				data[at+i] = scale * float32(int8(q))
			}
		}
	}
	return data, nil
}
