package settings

import (
	"reflect"
	"strings"
)

// mismatch returns the error of a node whose shape does not fit type t.
func (d *decoder) mismatch(at spot, t reflect.Type) error {
	if d.leadsThrough(at.key) {
		return d.beyond(at, wantKind(t))
	}
	got, hint := "a list", ""
	s, isScalar := scalarOf(at.node)
	if _, isMap := entriesOf(at.node); isMap {
		got = "a map"
	} else if isScalar {
		got, hint = s.String(), shapeHint(s, t)
	}
	return d.refuse(at, "want %s, got %s%s", d.wants(t), got, hint)
}

// shapeHint says how to write a list or a map instead of a scalar.
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

// wants describes how a value of type t is written.
func (d *decoder) wants(t reflect.Type) string {
	if t.Kind() == reflect.Struct {
		return "a map with the keys " + strings.Join(d.schema.names(t), ", ")
	}
	if t.Kind() == reflect.Interface {
		return "a map with the key " + KindKey + ", " + oneOfText(d.Kinds.names(t)) + ", and that kind's keys"
	}
	return wantKind(t)
}

// wantKind describes how a value of type t is written, structs in brief.
func wantKind(t reflect.Type) string {
	one, _ := kindNames(t)
	return one
}

// kindNames returns a name for one value of type t, or of the type it points to, and one for
// several.
func kindNames(t reflect.Type) (one, several string) {
	t = pointee(t)
	switch k := t.Kind(); {
	case k == reflect.String:
		return "a string", "strings"
	case k == reflect.Bool:
		return "true or false", "true and false"
	case isInt(k):
		return "an integer", "integers"
	case isUint(k):
		return "an integer >= 0", "integers"
	case isFloat(k):
		return "a number", "numbers"
	case k == reflect.Slice:
		_, of := kindNames(t.Elem())
		return "a list of " + of, "lists"
	case k == reflect.Map:
		_, of := kindNames(t.Elem())
		return "a map of " + of, "maps"
	}
	return "a map", "maps"
}
