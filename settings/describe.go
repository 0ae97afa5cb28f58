package settings

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// mismatch is the error of a node of the wrong shape for type t.
func (d *decoder) mismatch(n ast.Node, line int, key string, t reflect.Type) error {
	if d.leadsThrough(key) {
		return d.beyond(n, key, wantKind(t))
	}
	got, hint := "a list", ""
	s, isScalar := scalarOf(n)
	_, isMap := entriesOf(n)
	switch {
	case isMap:
		got = "a map"
	case isScalar:
		got = s.String()
		hint = shapeHint(s, t)
	}
	return d.errorAt(lineOf(n, line), key, "want %s, got %s%s", d.wants(t), got, hint)
}

// shapeHint tells how to make a list or a map of a scalar.
func shapeHint(s scalar, t reflect.Type) string {
	if form := s.form(); form == formNothing || form == formNull {
		return ""
	}
	if t.Kind() == reflect.Slice {
		if s.plain && !strings.Contains(s.text, "\n") {
			return "; write [" + shortened(s.text, 60) + "]"
		}
		return "; write [" + s.String() + "]"
	}
	if s.plain && strings.Contains(s.text, ":") {
		return "; put a space after the colon"
	}
	return ""
}

// wants names what a value of type t is written as.
func (d *decoder) wants(t reflect.Type) string {
	if t.Kind() == reflect.Struct {
		return "a map with the keys " + strings.Join(d.schema.names(t), ", ")
	}
	if t.Kind() == reflect.Interface {
		return "a map with the key " + KindKey + ", " + oneOfText(d.Kinds.names(t)) + ", and that kind's keys"
	}
	return wantKind(t)
}

// wantKind names what a value of type t is written as, structs briefly.
func wantKind(t reflect.Type) string {
	k := t.Kind()
	switch {
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case isInt(k):
		return "an integer"
	case isUint(k):
		return "an integer >= 0"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k == reflect.Slice:
		return "a list" + ofKind(t.Elem())
	}
	return "a map" + ofKind(t.Elem())
}

// ofKind names the elements of a list or a map of type t.
func ofKind(t reflect.Type) string {
	k := pointee(t).Kind()
	switch {
	case k == reflect.String:
		return " of strings"
	case isInt(k) || isUint(k):
		return " of integers"
	case k == reflect.Float32 || k == reflect.Float64:
		return " of numbers"
	case k == reflect.Bool:
		return " of true and false"
	case k == reflect.Slice:
		return " of lists"
	}
	return " of maps"
}
