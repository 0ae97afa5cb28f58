package models

import (
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// Size returns one of the config's sizes by its dotted key, such as stream.dk. It returns an error
// if the config has no such size.
func (c Config) Size(key string) (size int, err error) {
	if !change(reflect.ValueOf(&c).Elem(), key, func(now int64) int64 { size = int(now); return now }) {
		return 0, noSize(key)
	}
	return size, nil
}

// WithSize returns the config with another value of one of its sizes, named by a dotted key such as
// stream.dk. It returns an error if the config has no such size.
func (c Config) WithSize(key string, size int) (Config, error) {
	if !change(reflect.ValueOf(&c).Elem(), key, func(int64) int64 { return int64(size) }) {
		return Config{}, noSize(key)
	}
	return c, nil
}

func noSize(key string) error {
	return errors.Errorf("model.%s: want a size that the model has, got no such setting", key)
}

// change changes the setting at a dotted key of an addressable section.
func change(section reflect.Value, key string, by func(size int64) int64) bool {
	name, rest, inner := strings.Cut(key, ".")
	for _, s := range settingsOf(section.Type()) {
		if s.Key != name {
			continue
		}
		v := section.FieldByIndex(s.Index)
		switch {
		case !inner && v.CanInt():
			v.SetInt(by(v.Int()))
			return true
		case inner && v.Kind() == reflect.Struct:
			return change(v, rest, by)
		case inner && v.Kind() == reflect.Interface && !v.IsNil(): // a design, whose struct is copied
			design := reflect.New(v.Elem().Type()).Elem()
			design.Set(v.Elem())
			ok := change(design, rest, by)
			v.Set(design)
			return ok
		}
	}
	return false
}
