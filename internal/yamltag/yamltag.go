// Package yamltag lists the fields of a struct that a config file has keys for: those with a yaml
// tag. Package config reads and writes files by it, package models compares and copies designs.
package yamltag

import (
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// Field is a field of a struct with the key that is its yaml tag.
type Field struct {
	Key   string
	Index []int // for reflect.Value.FieldByIndex
	Type  reflect.Type
	Tag   reflect.StructTag
}

// Fields lists those of a struct in the order of their declaration, those of embedded structs, which
// have no tag, among them; path is the struct's name in errors. It is an error if two have the same
// key, or a key is none.
func Fields(t reflect.Type, path string) ([]Field, error) {
	var fields []Field
	seen := map[string]bool{}
	for _, f := range reflect.VisibleFields(t) {
		key := f.Tag.Get("yaml")
		switch {
		case key == "" || key == "-":
			continue
		case !f.IsExported():
			return nil, errors.Errorf("config: %s.%s is tagged %q but not exported", path, f.Name, key)
		case strings.ContainsAny(key, ",.[ "):
			return nil, errors.Errorf("config: %s.%s is tagged %q; want a name alone", path, f.Name, key)
		case seen[key]:
			return nil, errors.Errorf("config: %s has two fields tagged %q", path, key)
		}
		seen[key] = true
		fields = append(fields, Field{key, f.Index, f.Type, f.Tag})
	}
	return fields, nil
}
