package settings

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// Marshal writes the struct v, or the struct that v points to, as YAML: every tagged field in the
// order of declaration, map entries sorted by name, null for nil. Reading the result gives the same
// values. NaN, infinities and strings that are not UTF-8 are errors. Keys listed in hidden, in
// dotted form, are written as comments.
func Marshal(v any, hidden ...string) ([]byte, error) {
	value := reflect.Indirect(reflect.ValueOf(v))
	if value.Kind() != reflect.Struct {
		return nil, errors.Errorf("settings: want a struct or a pointer to one, got %T", v)
	}
	s, err := schemaOf(value, nil)
	if err != nil {
		return nil, err
	}
	w := &writer{schema: s, hidden: hidden}
	if len(s.fields[value.Type()]) == 0 {
		w.text.WriteString("{}\n")
	}
	w.section(value, field{}, "")
	return []byte(w.text.String()), w.err
}

// Text returns a value in the notation of a file.
func Text(v any) string { return valueText(reflect.ValueOf(v)) }

func valueText(v reflect.Value) string {
	w := &writer{}
	if w.flow(v, ""); w.err != nil {
		return fmt.Sprint(v.Interface())
	}
	return w.text.String()
}

// writer writes YAML: sections as indented lines, lists and maps in brackets.
type writer struct {
	schema schema
	hidden []string // dotted keys to write as comments
	text   strings.Builder
	err    error // the first error
}

// section writes the keys of the struct v, the value of field of at key: a line or an indented
// section for each.
func (w *writer) section(v reflect.Value, of field, key string) {
	for _, e := range w.schema.entries(v, of, key) {
		w.text.WriteString(strings.Repeat("  ", strings.Count(e.key, ".")))
		if w.isHidden(e) {
			w.text.WriteString("# ")
		}
		w.text.WriteString(stringText(e.Key) + ":")
		if w.isEmpty(e) {
			w.text.WriteString(" ")
			w.flow(e.value, e.key)
		}
		w.text.WriteString("\n")
		if !w.isEmpty(e) {
			w.section(e.value, e.field, e.key)
		}
	}
}

// isEmpty tells whether a key holds no further keys.
func (w *writer) isEmpty(e entry) bool {
	return e.value.Kind() != reflect.Struct || len(w.schema.entries(e.value, e.field, e.key)) == 0
}

// isHidden tells whether to write a key's value as a comment. A section is hidden if everything in
// it is.
func (w *writer) isHidden(e entry) bool {
	if e.value.Kind() == reflect.Pointer {
		e.value = pointeeCopy(e.value).Elem()
	}
	if w.isEmpty(e) {
		return slices.Contains(w.hidden, e.key)
	}
	return !slices.ContainsFunc(w.schema.entries(e.value, e.field, e.key), func(inner entry) bool { return !w.isHidden(inner) })
}

// flow writes a value within a line.
func (w *writer) flow(v reflect.Value, key string) {
	switch k := v.Kind(); {
	case canBeNil(k) && v.IsNil():
		w.text.WriteString("null")
	case k == reflect.Pointer || k == reflect.Interface:
		w.flow(v.Elem(), key)
	case k == reflect.Slice:
		w.text.WriteString("[")
		for i := range v.Len() {
			w.comma(i)
			w.flow(v.Index(i), key+"["+strconv.Itoa(i)+"]")
		}
		w.text.WriteString("]")
	case k == reflect.Map:
		w.text.WriteString("{")
		for i, name := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
			w.entry(i, name.String(), v.MapIndex(name), key)
		}
		w.text.WriteString("}")
	case k == reflect.Struct:
		w.text.WriteString("{")
		for i, f := range w.schema.fields[v.Type()] {
			w.entry(i, f.Key, v.FieldByIndex(f.Index), key)
		}
		w.text.WriteString("}")
	default:
		text, problem := scalarText(v)
		w.text.WriteString(text)
		w.check(key, problem)
	}
}

// comma writes the separator before the i-th value within a line.
func (w *writer) comma(i int) {
	if i > 0 {
		w.text.WriteString(", ")
	}
}

// entry writes the i-th entry of a map or struct within a line.
func (w *writer) entry(i int, name string, v reflect.Value, key string) {
	if !utf8.ValidString(name) {
		w.check(joined(key, name), "the name is not UTF-8 text")
	}
	w.comma(i)
	w.text.WriteString(stringText(name) + ": ")
	w.flow(v, joined(key, name))
}

// check records a problem, if it is the first.
func (w *writer) check(key, problem string) {
	if problem != "" && w.err == nil {
		w.err = &Error{Key: key, Problem: problem}
	}
}

// scalarText returns the YAML of a value that is neither list, map nor section, or a problem.
func scalarText(v reflect.Value) (text, problem string) {
	k := v.Kind()
	switch {
	case k == reflect.Bool:
		return strconv.FormatBool(v.Bool()), ""
	case isInt(k):
		return strconv.FormatInt(v.Int(), 10), ""
	case isUint(k):
		return strconv.FormatUint(v.Uint(), 10), ""
	case k == reflect.String:
		if !utf8.ValidString(v.String()) {
			return "", "the string is not UTF-8 text: " + quoted(v.String())
		}
		return stringText(v.String()), ""
	}
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", "want a finite number, got " + strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, v.Type().Bits()), ""
}

var (
	// Text that every YAML reader takes for the same string without quotes.
	barePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_./+-]*$`)
	// Words that YAML 1.1 reads as booleans.
	switchPattern = regexp.MustCompile(`^(?i:y|n|yes|no|on|off)$`)
)

// stringText returns a string in YAML, in quotes unless it is certainly read as a string without.
// All of Go's escapes of valid UTF-8 are valid in YAML.
func stringText(s string) string {
	bare := barePattern.MatchString(s) && !switchPattern.MatchString(s)
	if bare && (scalar{text: s, plain: true}).form() == formText {
		return s
	}
	return strconv.Quote(s)
}
