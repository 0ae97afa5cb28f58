package models

import (
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// Widened is the config with some of its sizes m times as large: the settings of the given
// dotted keys, such as stream.d_model and attention.heads. It is an error if the config has no
// such size.
func (c Config) Widened(m int, keys ...string) (Config, error) {
	for _, key := range keys {
		if !multiply(reflect.ValueOf(&c).Elem(), key, int64(m)) {
			return Config{}, errors.Errorf("model.%s: want a size that the model has, got no such setting", key)
		}
	}
	return c, nil
}

// multiply multiplies the setting of a dotted key of a section, which can be assigned to.
func multiply(section reflect.Value, key string, m int64) bool {
	name, rest, inner := strings.Cut(key, ".")
	for _, s := range settingsOf(section.Type()) {
		if s.key != name {
			continue
		}
		v := section.FieldByIndex(s.index)
		switch {
		case !inner && v.CanInt():
			v.SetInt(v.Int() * m)
			return true
		case inner && v.Kind() == reflect.Struct:
			return multiply(v, rest, m)
		case inner && v.Kind() == reflect.Interface && !v.IsNil(): // a design, whose struct is copied
			design := reflect.New(v.Elem().Type()).Elem()
			design.Set(v.Elem())
			ok := multiply(design, rest, m)
			v.Set(design)
			return ok
		}
	}
	return false
}
