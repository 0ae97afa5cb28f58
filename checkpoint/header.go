package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// The safetensors format (https://github.com/huggingface/safetensors, README, "Format") has 8 bytes
// with the length of the header (little-endian, unsigned), the header as a JSON object, then the
// elements of all tensors. The header has one member for each tensor, {"dtype", "shape",
// "data_offsets": [begin, end)}, with offsets counted from the end of the header, and one for text,
// "__metadata__". The tensors cover the data exactly, without gaps and overlaps.
const (
	metadataKey     = "__metadata__"
	lengthBytes     = 8
	maxHeaderBytes  = 100_000_000 // the format's own limit
	maxRank         = 32          // limits what a malicious shape makes us allocate
	headerAlignment = 8           // data starts at a multiple of the widest element
)

// entry says where a tensor lies in the data.
type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int64 // bytes from the end of the header
}

// header is the parsed header of a file; entries are in the order of their data.
type header struct {
	entries  []entry
	metadata map[string]string
}

// parseHeader parses the JSON of a header that is followed by dataBytes bytes of data. It is
// stricter than encoding/json: keys must match exactly and not repeat, and nothing may be null.
func parseHeader(raw []byte, dataBytes int64) (header, error) {
	if len(raw) == 0 || raw[0] != '{' || !utf8.Valid(raw) || !json.Valid(raw) {
		return header{}, damagedf("the header is not a JSON object: damaged, or not a safetensors file")
	}
	members, err := parseObject("header", raw)
	if err != nil {
		return header{}, err
	}
	var h header
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == metadataKey {
			h.metadata, err = parseMetadata(members[name])
		} else {
			var e entry
			e, err = parseEntry(name, members[name])
			h.entries = append(h.entries, e)
		}
		if err != nil {
			return header{}, err
		}
	}
	slices.SortFunc(h.entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end), cmp.Compare(a.name, b.name))
	})
	return h, h.checkCover(dataBytes)
}

// checkCover returns an error unless the entries, sorted by offset, cover the data exactly.
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

// checkMemory refuses tensors that would take more than available bytes in memory, before it reads
// any: a sparse file may claim more than any disk can hold.
func (h header) checkMemory(available int) error {
	need := 0.0
	for _, e := range h.entries {
		size := e.dtype.Size()
		if e.dtype == F16 || e.dtype == BF16 {
			size = F32.Size() // it is read as float32
		}
		need += float64(e.elements()) * float64(size)
	}
	if need > float64(available) {
		return errors.Errorf("want %.3g GB of memory for its tensors, got %.3g GB available", need/1e9, float64(available)/1e9)
	}
	return nil
}

// parseObject returns the members of an object; json.Valid has accepted the text already.
func parseObject(what string, object json.RawMessage) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if token, _ := d.Token(); token != json.Delim('{') {
		return nil, damagedf("%s: want an object, got %.40s", what, object)
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		token, _ := d.Token()
		key, _ := token.(string)
		if members[key] != nil {
			return nil, damagedf("%s: key %q appears twice: damaged", what, key)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errors.Wrap(err, what)
		}
		members[key] = value
	}
	return members, nil
}

// parseText reads a string.
func parseText(what string, value json.RawMessage) (string, error) {
	var text *string
	if err := json.Unmarshal(value, &text); err != nil || text == nil {
		return "", damagedf("%s: want a string, got %.40s", what, value)
	}
	return *text, nil
}

// parseIntegers reads an array of at most limit integers, none negative.
func parseIntegers(what string, value json.RawMessage, limit int) ([]int, error) {
	var numbers []*int
	err := json.Unmarshal(value, &numbers)
	if err != nil || numbers == nil || len(numbers) > limit || slices.ContainsFunc(numbers, func(n *int) bool { return n == nil || *n < 0 }) {
		return nil, damagedf("%s: want an array of at most %d integers from 0 that fit %d bits, got %.40s", what, limit, strconv.IntSize, value)
	}
	all := make([]int, len(numbers))
	for i, n := range numbers {
		all[i] = *n
	}
	return all, nil
}

func parseMetadata(object json.RawMessage) (map[string]string, error) {
	members, err := parseObject(metadataKey, object)
	out := map[string]string{}
	for key, value := range members {
		if out[key], err = parseText(metadataKey+" "+strconv.Quote(key), value); err != nil {
			return nil, err
		}
	}
	return out, err
}

func parseEntry(name string, object json.RawMessage) (entry, error) {
	e, what := entry{name: name}, "tensor "+strconv.Quote(name)
	members, err := parseObject(what, object)
	if err != nil {
		return e, err
	}
	dtype, err := parseText(what+": dtype", members["dtype"])
	if err != nil {
		return e, err
	}
	if e.shape, err = parseIntegers(what+": shape", members["shape"], maxRank); err != nil {
		return e, err
	}
	offsets, err := parseIntegers(what+": data_offsets", members["data_offsets"], 2)
	if err != nil {
		return e, err
	}
	if len(members) != 3 || len(offsets) != 2 {
		return e, damagedf("%s: want dtype, shape and two data_offsets, got the keys %v", what, slices.Sorted(maps.Keys(members)))
	}
	e.dtype, e.begin, e.end = DType(dtype), int64(offsets[0]), int64(offsets[1])
	return e, errors.Wrap(e.check(), what)
}

// check compares the size that follows from shape and dtype with the one that the offsets give.
func (e entry) check() error {
	elements, err := elementsOf(e.shape)
	if err != nil {
		return err
	}
	bytes, size := e.end-e.begin, int64(cmp.Or(e.dtype.Size(), e.dtype.undecoded()))
	if size == 0 && (bytes != 0 || elements != 0) {
		return errors.Errorf("dtype %q is not supported: want one of %s", e.dtype, supportedDTypes)
	}
	size = max(1, size)
	if bytes < 0 || bytes%size != 0 || bytes/size != int64(elements) {
		return damagedf("shape %v of %s does not fill data_offsets [%d, %d]: damaged", e.shape, e.dtype, e.begin, e.end)
	}
	return nil
}

// elements returns the number of elements that are decoded; check has compared it with the shape.
func (e entry) elements() int {
	if e.dtype.Size() == 0 {
		return 0
	}
	return int((e.end - e.begin) / int64(e.dtype.Size()))
}
