package settings

import "github.com/pkg/errors"

// SetDefaults stores in each zero field of the struct that v points to the value of its tag default, sections' fields included.
func SetDefaults(v any) error { return setDefaults(v, func(*Flag) bool { return true }) }

// Complete stores its default in each field that is zero where its bounds do not allow zero, and returns the first value that lies
// outside its bounds then. It is for structs that a program has filled.
func Complete(v any) error {
	if err := setDefaults(v, func(f *Flag) bool { return outOfBounds(f.field, f.value) != "" }); err != nil {
		return err
	}
	return CheckBounds(v, nil)
}

// setDefaults stores the defaults of zero fields that are wanted.
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
