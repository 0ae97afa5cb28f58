package settings

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/residua-go/residua/internal/spelling"
)

// CheckBounds returns an error for the first value that is outside the bounds in its field's
// tags, in the order of declaration. v points to a struct.
func CheckBounds(v any, where *Positions) error {
	of, err := structOf(v)
	if err != nil {
		return err
	}
	s, err := schemaOf(of, nil)
	if err != nil {
		return err
	}
	s.walk(of, func(key string, f field, v reflect.Value) {
		if problem := outOfBounds(f, v); problem != "" && err == nil {
			err = where.Errorf(key, "%s", problem)
		}
	})
	return err
}

// outOfBounds returns the bound that a number violates, "" if none.
func outOfBounds(f field, v reflect.Value) string {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			if problem := outOfBounds(f, v.Index(i)); problem != "" {
				return problem
			}
		}
	}
	if choices := f.choices(); v.Kind() == reflect.String && choices != nil && !slices.Contains(choices, v.String()) {
		return "want " + oneOfText(choices) + ", got " + quoted(v.String()) + spelling.Hint(v.String(), choices)
	}
	value, isNumber := numberOf(v)
	least, most := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case !isNumber:
	case least != "" && value < boundOf(least):
		return "want >= " + least + ", got " + valueText(v)
	case most != "" && value > boundOf(most):
		return "want <= " + most + ", got " + valueText(v)
	}
	return ""
}

// choices returns the values that a field may have, nil for any.
func (f field) choices() []string {
	text, ok := f.Tag.Lookup("choices")
	if !ok {
		return nil
	}
	return strings.Split(text, ", ")
}

// numberOf returns a value as a number, if it is one.
func numberOf(v reflect.Value) (value float64, isNumber bool) {
	switch k := v.Kind(); {
	case isInt(k):
		return float64(v.Int()), true
	case isUint(k):
		return float64(v.Uint()), true
	case isFloat(k):
		return v.Float(), true
	}
	return 0, false
}

// boundOf parses the bound in a tag; a test parses all of them.
func boundOf(text string) float64 {
	bound, _ := strconv.ParseFloat(text, 64)
	return bound
}
