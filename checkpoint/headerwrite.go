package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// layout returns the tensors in the order in which their data is written: the widest elements
// first, so that every tensor starts at a multiple of its element's size, then by name.
func layout(tensors []Tensor) []Tensor {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(b.DType().Size(), a.DType().Size()), cmp.Compare(a.Name, b.Name))
	})
	return sorted
}

// formatHeader returns the JSON of the header, padded with spaces, for tensors in the order of
// layout.
func formatHeader(sorted []Tensor, metadata map[string]string) ([]byte, error) {
	var text bytes.Buffer
	member := func(key string, value any) error {
		if text.Len() > 1 {
			text.WriteByte(',')
		}
		if err := appendJSON(&text, key); err != nil {
			return err
		}
		text.WriteByte(':')
		return appendJSON(&text, value)
	}
	text.WriteByte('{')
	if len(metadata) > 0 {
		if err := member(metadataKey, metadata); err != nil {
			return nil, err
		}
	}
	at := int64(0)
	for _, t := range sorted {
		end := at + int64(t.Len())*int64(t.DType().Size())
		err := member(t.Name, struct {
			DType   DType    `json:"dtype"`
			Shape   []int    `json:"shape"`
			Offsets [2]int64 `json:"data_offsets"`
		}{t.DType(), append([]int{}, t.Shape...), [2]int64{at, end}})
		if err != nil {
			return nil, err
		}
		at = end
	}
	text.WriteByte('}')
	for text.Len()%headerAlignment != 0 {
		text.WriteByte(' ')
	}
	if text.Len() > maxHeaderBytes {
		return nil, errors.Errorf("the header takes %d bytes, the format allows %d: write fewer tensors or less metadata", text.Len(), maxHeaderBytes)
	}
	return text.Bytes(), nil
}

// appendJSON appends v, without json.Encoder's line end and HTML escapes.
func appendJSON(text *bytes.Buffer, v any) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return errors.WithStack(err)
	}
	text.Truncate(text.Len() - 1)
	return nil
}

// checkTensors returns an error if the tensors and metadata cannot be written to one file.
func checkTensors(tensors []Tensor, metadata map[string]string) error {
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		if err := t.validate(); err != nil {
			return err
		}
		if seen[t.Name] {
			return errors.Errorf("tensor %q is given twice: names must differ", t.Name)
		}
		seen[t.Name] = true
	}
	for key, value := range metadata {
		if err := checkText("metadata key", key); err != nil {
			return err
		}
		if err := checkText("metadata value of "+key, value); err != nil {
			return err
		}
	}
	return nil
}

// checkText refuses text that JSON can hold only with \u escapes or not at all. Without these, a
// text has just one spelling in the header, and a flipped bit cannot hide in the case of an
// escape's hex digits.
func checkText(what, text string) error {
	if !utf8.ValidString(text) {
		return errors.Errorf("%s %q: want UTF-8", what, text)
	}
	bad := func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\r", r) }
	if i := strings.IndexFunc(text, bad); i >= 0 {
		return errors.Errorf("%s %q: control character at byte %d: remove it", what, text, i)
	}
	return nil
}
