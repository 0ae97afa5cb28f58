package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// The safetensors format (https://github.com/huggingface/safetensors, README, "Format"): 8 bytes with the length of
// the header (little-endian, unsigned), the header as a JSON object, then the elements of all tensors. The header has
// a member for each tensor, {"dtype", "shape", "data_offsets": [begin, end)} counted from the end of the header, and
// one of its own for text, "__metadata__". The tensors cover the data exactly: no hole, no overlap.
const (
	metadataKey     = "__metadata__"
	lengthBytes     = 8
	maxHeaderBytes  = 100_000_000 // the format's own limit
	maxRank         = 32          // bounds what a hostile shape makes us allocate
	headerAlignment = 8           // data starts at a multiple of the widest element
)

// entry says where one tensor lies in the data.
type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int64 // bytes from the end of the header
}

// header is the parsed front of a file; entries are in the order of their data.
type header struct {
	entries  []entry
	metadata map[string]string
}

// parseHeader reads the JSON text of a header in front of dataBytes bytes of data. It is stricter than encoding/json:
// keys are compared exactly and may not repeat.
func parseHeader(raw []byte, dataBytes int64) (header, error) {
	if len(raw) == 0 || raw[0] != '{' || !utf8.Valid(raw) || !json.Valid(raw) {
		return header{}, damagedf("the header is not a JSON object: damaged, or not a safetensors file")
	}
	p := headerParser{json.NewDecoder(bytes.NewReader(raw))}
	p.UseNumber()
	var h header
	err := p.object("header", func(key string) (err error) {
		if key == metadataKey {
			h.metadata, err = p.metadata()
			return err
		}
		e, err := p.tensor(key)
		h.entries = append(h.entries, e)
		return err
	})
	if err != nil {
		return header{}, err
	}
	slices.SortFunc(h.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	return h, h.checkCover(dataBytes)
}

// checkCover says whether the entries, sorted by offset, cover the data exactly.
func (h header) checkCover(dataBytes int64) error {
	at := int64(0)
	for i, e := range h.entries {
		switch {
		case e.end > dataBytes:
			return damagedf("tensor %q: data ends at byte %d, but only %d bytes follow the header: the file is truncated or damaged", e.name, e.end, dataBytes)
		case e.begin < at:
			return damagedf("tensor %q: data_offsets [%d, %d] overlap those of %q, which end at %d: damaged", e.name, e.begin, e.end, h.entries[i-1].name, at)
		case e.begin > at:
			return damagedf("tensor %q: data_offsets [%d, %d] leave bytes %d to %d to no tensor: damaged", e.name, e.begin, e.end, at, e.begin)
		}
		at = e.end
	}
	if at != dataBytes {
		return damagedf("the tensors end at byte %d of the data, %d bytes follow the header: damaged, or something was appended", at, dataBytes)
	}
	return nil
}

// checkMemory refuses tensors that take more than available bytes once they are read, before any is: a sparse file
// announces what no disk holds.
func (h header) checkMemory(available int) error {
	need := 0.0
	for _, e := range h.entries {
		size := e.dtype.Size()
		if e.dtype == F16 || e.dtype == BF16 {
			size = F32.Size() // it is read as one
		}
		need += float64(e.elements()) * float64(size)
	}
	if need > float64(available) {
		return errors.Errorf("want %.3g GB of memory for its tensors, got %.3g GB available", need/1e9, float64(available)/1e9)
	}
	return nil
}

// headerParser walks JSON that json.Valid has accepted, so only kinds and values are left to check.
type headerParser struct{ *json.Decoder }

// object calls member for each key of the object that comes next.
func (p headerParser) object(what string, member func(key string) error) error {
	if err := p.open('{', what, "an object"); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return errors.Wrap(err, what)
		}
		key, _ := token.(string)
		if seen[key] {
			return damagedf("%s: key %q appears twice: damaged", what, key)
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	_, err := p.Token()
	return errors.Wrap(err, what)
}

func (p headerParser) open(delim json.Delim, what, wanted string) error {
	token, err := p.Token()
	if err != nil {
		return errors.Wrap(err, what)
	}
	if token != delim {
		return damagedf("%s: want %s, got %s", what, wanted, tokenText(token))
	}
	return nil
}

// tokenText writes a token as it stands in JSON.
func tokenText(token json.Token) string {
	switch token := token.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(token)
	}
	return fmt.Sprint(token)
}

func (p headerParser) text(what string) (string, error) {
	token, err := p.Token()
	if err != nil {
		return "", errors.Wrap(err, what)
	}
	text, ok := token.(string)
	if !ok {
		return "", damagedf("%s: want a string, got %s", what, tokenText(token))
	}
	return text, nil
}

// integers reads an array of at most limit non-negative integers.
func (p headerParser) integers(what string, limit int) ([]int64, error) {
	if err := p.open('[', what, "an array"); err != nil {
		return nil, err
	}
	var out []int64
	for p.More() {
		token, err := p.Token()
		if err != nil {
			return nil, errors.Wrap(err, what)
		}
		number, _ := token.(json.Number)
		n, err := strconv.ParseInt(string(number), 10, strconv.IntSize)
		if err != nil || n < 0 {
			return nil, damagedf("%s: want integers from 0 that fit %d bits, got %s", what, strconv.IntSize, tokenText(token))
		}
		if len(out) == limit {
			return nil, damagedf("%s: want at most %d numbers", what, limit)
		}
		out = append(out, n)
	}
	_, err := p.Token()
	return out, errors.Wrap(err, what)
}

func (p headerParser) metadata() (map[string]string, error) {
	out := map[string]string{}
	err := p.object(metadataKey, func(key string) (err error) {
		out[key], err = p.text(metadataKey + " " + strconv.Quote(key))
		return err
	})
	return out, err
}

func (p headerParser) tensor(name string) (entry, error) {
	what := "tensor " + strconv.Quote(name)
	e := entry{name: name, shape: []int{}}
	var dtype string
	var shape, offsets []int64
	fields := 0
	err := p.object(what, func(key string) (err error) {
		fields++
		switch key {
		case "dtype":
			dtype, err = p.text(what + ": dtype")
		case "shape":
			shape, err = p.integers(what+": shape", maxRank)
		case "data_offsets":
			offsets, err = p.integers(what+": data_offsets", 2)
		default:
			err = damagedf("%s: unknown key %q: want dtype, shape, data_offsets", what, key)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	if fields != 3 || len(offsets) != 2 {
		return e, damagedf("%s: want dtype, shape and two data_offsets", what)
	}
	for _, axis := range shape {
		e.shape = append(e.shape, int(axis))
	}
	e.dtype, e.begin, e.end = DType(dtype), offsets[0], offsets[1]
	return e, errors.Wrap(e.check(), what)
}

// check compares the size that shape and dtype ask for with the one that the offsets give.
func (e entry) check() error {
	if e.dtype.Size() == 0 {
		return errors.Errorf("dtype %q is not supported: want one of %s", e.dtype, supportedDTypes)
	}
	elements, err := elementsOf(e.shape)
	if err != nil {
		return err
	}
	bytes := e.end - e.begin
	if bytes < 0 || bytes%int64(e.dtype.Size()) != 0 || bytes/int64(e.dtype.Size()) != int64(elements) {
		return damagedf("shape %v of %s does not fill data_offsets [%d, %d]: damaged", e.shape, e.dtype, e.begin, e.end)
	}
	return nil
}

// elements returns the number of elements, which check has compared with the shape.
func (e entry) elements() int { return int((e.end - e.begin) / int64(e.dtype.Size())) }
