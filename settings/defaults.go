package settings

import "github.com/pkg/errors"

// SetDefaults stores in each zero field of the struct that v points to the value of its tag default, sections' fields included.
func SetDefaults(v any) error {
	flags, err := NewFlags(v)
	if err != nil {
		return err
	}
	for _, f := range flags {
		text, ok := f.field.Tag.Lookup("default")
		if !ok || !f.value.IsZero() {
			continue
		}
		if err := f.Set(text); err != nil {
			return errors.Wrapf(err, "settings: %T has a tag default that is no value", v)
		}
	}
	return nil
}
