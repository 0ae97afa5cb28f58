package data

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// textField emits the text in one field of JSON objects. A text that is null, or whose field an
// object lacks, is emitted as "".
type textField struct {
	path, field string
	emit        func(number int, text string) error

	found   bool  // an object had the field
	missing error // about the first object without it
}

// object emits the text of an object.
func (t *textField) object(number int, object map[string]json.RawMessage) error {
	value, ok := lookup(object, t.field)
	if !ok {
		if t.missing == nil {
			t.missing = errors.Errorf("%s:%d: want the text in field %q, got an object with the fields [%s]: name it in data.text_field, or by -text-field",
				t.path, number, t.field, strings.Join(fieldNames(object, ""), ", "))
		}
		return t.emit(number, "")
	}
	t.found = true
	text, err := jsonText(value)
	if err != nil {
		return errors.Errorf("field %q: want a string, got %.40s", t.field, value)
	}
	return t.emit(number, text)
}

// end returns an error if none of the objects had the field.
func (t *textField) end() error {
	if t.found {
		return nil
	}
	return t.missing
}

// lookup returns the value of a field. The name a.b stands for the field of that name or, if there
// is none, for field b of the object in field a.
func lookup(object map[string]json.RawMessage, name string) (json.RawMessage, bool) {
	if value, ok := object[name]; ok {
		return value, true
	}
	for i := range name {
		var inner map[string]json.RawMessage
		if name[i] != '.' || json.Unmarshal(object[name[:i]], &inner) != nil {
			continue
		}
		if value, ok := lookup(inner, name[i+1:]); ok {
			return value, true
		}
	}
	return nil, false
}

// fieldNames lists the fields of an object by the names that lookup takes.
func fieldNames(object map[string]json.RawMessage, prefix string) (names []string) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var inner map[string]json.RawMessage
		if json.Unmarshal(object[key], &inner) == nil && len(inner) > 0 {
			names = append(names, fieldNames(inner, prefix+key+".")...)
		} else {
			names = append(names, prefix+key)
		}
	}
	return names
}

// jsonText returns a JSON string's text, "" for null. It keeps bytes that are not UTF-8, which
// encoding/json replaces by U+FFFD.
func jsonText(value json.RawMessage) (string, error) {
	var text string
	if err := json.Unmarshal(value, &text); err != nil || utf8.Valid(value) {
		return text, err
	}
	var kept []byte
	for rest := value[1 : len(value)-1]; len(rest) > 0; {
		before, _, found := bytes.Cut(rest, []byte(`\`))
		kept, rest = append(kept, before...), rest[len(before):]
		if found {
			run := rest[:escapes(rest)]
			if err := json.Unmarshal(slices.Concat([]byte(`"`), run, []byte(`"`)), &text); err != nil {
				return "", err
			}
			kept, rest = append(kept, text...), rest[len(run):]
		}
	}
	return string(kept), nil
}

// escapes returns the length of the escape sequences at the start of a part of a valid JSON string.
func escapes(part []byte) int {
	n := 0
	for n < len(part) && part[n] == '\\' {
		if n++; part[n] == 'u' {
			n += 4
		}
		n++
	}
	return n
}
