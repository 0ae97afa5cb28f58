package tasks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// object reads the fields of a line. After the first invalid field its methods return zero values,
// and err says what was wrong.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

func newObject(line []byte) *object {
	o := &object{}
	if !utf8.Valid(line) {
		o.err = errors.New("want text in UTF-8, got bytes that are not")
		return o
	}
	if err := json.Unmarshal(line, &o.fields); err != nil || o.fields == nil {
		o.err = errors.New("want one JSON object a line")
		if err != nil {
			o.err = errors.Wrap(err, "want one JSON object a line")
		}
	}
	return o
}

// refuse records a problem with a field, if it is the first.
func (o *object) refuse(name, format string, args ...any) {
	if o.err == nil {
		o.err = errors.Errorf("field %q: %s", name, fmt.Sprintf(format, args...))
	}
}

// read decodes a field; want describes the expected value.
func (o *object) read(name string, value any, want string) {
	if o.err != nil {
		return
	}
	text, ok := o.fields[name]
	if !ok {
		o.err = errors.Errorf("want a field %q, %s, got an object with the fields [%s]: is the format right?", name, want,
			strings.Join(slices.Sorted(maps.Keys(o.fields)), ", "))
		return
	}
	if err := json.Unmarshal(text, value); err != nil || string(text) == "null" {
		o.refuse(name, "want %s, got %.40s", want, text)
	}
}

// text returns a string field.
func (o *object) text(name string) (text string) {
	o.read(name, &text, "a string")
	return text
}

// filled returns a string field that must not be empty.
func (o *object) filled(name string) string {
	text := o.text(name)
	if text == "" {
		o.refuse(name, "want text, got an empty string")
	}
	return text
}

// texts returns a list of strings.
func (o *object) texts(name string) []string {
	var read []*string
	o.read(name, &read, "a list of strings")
	var texts []string
	for i, text := range read {
		if text == nil {
			o.refuse(name, "entry %d: want a string, got null", i)
			return nil
		}
		texts = append(texts, *text)
	}
	return texts
}

// choices returns a list of at least one string, none of them empty.
func (o *object) choices(name string) []string {
	texts := o.texts(name)
	if len(texts) == 0 {
		o.refuse(name, "want at least one choice, got none")
	}
	if i := slices.Index(texts, ""); i >= 0 {
		o.refuse(name, "entry %d: want text, got an empty string", i)
	}
	return texts
}

// number returns a whole number from least to most; the field may also hold it as a string.
func (o *object) number(name string, least, most int) int {
	var value any
	want := fmt.Sprintf("a whole number of %d to %d", least, most)
	o.read(name, &value, want)
	if o.err != nil {
		return 0
	}
	text, ok := value.(string)
	if !ok {
		text = string(o.fields[name])
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		o.refuse(name, "want %s, got %.40s", want, o.fields[name])
	}
	return n
}

// index returns the index of one of n choices.
func (o *object) index(name string, n int) int { return o.number(name, 0, n-1) }

// object returns a field that is an object itself.
func (o *object) object(name string) *object {
	inner := &object{err: o.err}
	o.read(name, &inner.fields, "an object")
	if inner.err == nil {
		inner.err = o.err
	}
	return inner
}

// take records the first problem of inner, the object in field name, as this object's.
func (o *object) take(name string, inner *object) {
	if o.err == nil && inner.err != nil {
		o.err = errors.Wrapf(inner.err, "field %q", name)
	}
}
