// Package yamltag lists the fields of a struct that have a yaml tag, which a config file can set.
// Package settings reads and writes files with it; package models compares and copies designs with
// it.
package yamltag

import (
	"reflect"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// Field is a field of a struct, with its yaml tag as the key.
type Field struct {
	Key   string
	Index []int // for reflect.Value.FieldByIndex
	Type  reflect.Type
	Tag   reflect.StructTag
}

// Fields lists the tagged fields of a struct in the order of declaration, including those of
// embedded structs without a tag; path is the struct's name in errors. It returns an error if two
// fields have the same key, or if a key is invalid.
func Fields(t reflect.Type, path string) ([]Field, error) {
	fields := make([]Field, 0, t.NumField())
	for field := range t.Fields() {
		found, err := fieldsAt(field, path)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if slices.ContainsFunc(fields, func(g Field) bool { return g.Key == f.Key }) {
				return nil, errors.Errorf("config: %s has two fields tagged %q", path, f.Key)
			}
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// fieldsAt returns the fields for one struct field: none, the field itself, or those of an embedded
// struct.
func fieldsAt(sf reflect.StructField, path string) ([]Field, error) {
	tag := sf.Tag.Get("yaml")
	switch {
	case tag == "" && sf.Anonymous && sf.Type.Kind() == reflect.Struct:
		return embedded(sf, path+"."+sf.Name)
	case tag == "" || tag == "-":
		return nil, nil
	case !sf.IsExported():
		return nil, errors.Errorf("config: %s.%s is tagged %q but not exported", path, sf.Name, tag)
	case strings.ContainsAny(tag, ",.[ "):
		return nil, errors.Errorf("config: %s.%s is tagged %q; want a name alone", path, sf.Name, tag)
	}
	return []Field{{tag, sf.Index, sf.Type, sf.Tag}}, nil
}

// embedded returns the fields of an embedded struct, as reached from the struct around it.
func embedded(sf reflect.StructField, path string) ([]Field, error) {
	inner, err := Fields(sf.Type, path)
	for i := range inner {
		inner[i].Index = append(append([]int(nil), sf.Index...), inner[i].Index...)
	}
	return inner, err
}
