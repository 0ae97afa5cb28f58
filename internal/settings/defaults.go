package settings

import (
	"reflect"

	"github.com/pkg/errors"
)

// SetDefaults sets each zero field of the struct that v points to, including fields of sections, to
// its tag default.
func SetDefaults(v any) error { return setDefaults(v, func(*Flag) bool { return true }) }

// Settable returns a pointer to a copy of a struct, as the interface T that the struct has, so that
// settings can be written into the copy.
func Settable[T any](v T) T {
	held := reflect.Indirect(reflect.ValueOf(v))
	fresh := reflect.New(held.Type())
	fresh.Elem().Set(held)
	return fresh.Interface().(T)
}

// Complete sets each zero field whose bounds do not allow zero to its default, and then returns the
// error of the first value outside its bounds. It is for structs that a program has filled.
func Complete(v any) error {
	if err := setDefaults(v, func(f *Flag) bool { return outOfBounds(f.field, f.value) != "" }); err != nil {
		return err
	}
	return CheckBounds(v, nil)
}

// setDefaults sets the zero fields for which wanted returns true to their defaults.
func setDefaults(v any, wanted func(*Flag) bool) error {
	flags, err := NewFlags(v)
	if err != nil {
		return err
	}
	for _, f := range flags {
		text, ok := f.field.Tag.Lookup("default")
		if !ok || !f.value.IsZero() || !wanted(f) {
			continue
		}
		if err := f.Set(text); err != nil {
			return errors.Wrapf(err, "settings: %T has a tag default that is no value", v)
		}
	}
	return nil
}
