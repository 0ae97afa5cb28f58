package config

import (
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// field is one key that a section may hold.
type field struct {
	name  string
	index []int // for reflect.Value.FieldByIndex
	typ   reflect.Type
	tag   reflect.StructTag
}

// schema holds the keys of every struct type that a config reaches, in the order
// of their declaration.
type schema map[reflect.Type][]field

// schemaOf collects the schema of a struct type. It fails where the type holds
// what a config cannot: that is a mistake in the program, not in a config.
func schemaOf(root reflect.Type) (schema, error) {
	s := schema{}
	return s, s.add(root, root.String())
}

// add enters type t, which stands at the place in the program that path names.
func (s schema) add(t reflect.Type, path string) error {
	switch t.Kind() {
	case reflect.Struct:
		return s.addStruct(t, path)
	case reflect.Slice:
		return s.add(t.Elem(), path+"[]")
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return s.add(t.Elem(), path+"[]")
		}
	case reflect.Pointer:
		switch t.Elem().Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
		default:
			return s.add(t.Elem(), path)
		}
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return nil
	default:
		if isInt(t.Kind()) || isUint(t.Kind()) {
			return nil
		}
	}
	return errors.Errorf("config: %s has the type %s, which a config cannot hold", path, t)
}

// addStruct enters struct type t and the types of its fields.
func (s schema) addStruct(t reflect.Type, path string) error {
	if _, known := s[t]; known {
		return nil
	}
	fields, err := fieldsOf(t, path)
	if err != nil {
		return err
	}
	s[t] = fields
	for _, f := range fields {
		if err := s.add(f.typ, path+"."+t.FieldByIndex(f.index).Name); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf lists the tagged fields of a struct, those of inlined structs among
// them.
func fieldsOf(t reflect.Type, path string) ([]field, error) {
	var fields []field
	seen := map[string]bool{}
	for i := range t.NumField() {
		found, err := fieldOf(t.Field(i), path)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			if seen[f.name] {
				return nil, errors.Errorf("config: %s has two fields tagged %q", path, f.name)
			}
			seen[f.name] = true
			fields = append(fields, f)
		}
	}
	return fields, nil
}

// fieldOf reads the tag of one struct field: no key, one, or an inlined struct's.
func fieldOf(sf reflect.StructField, path string) ([]field, error) {
	tag := sf.Tag.Get("yaml")
	if tag == "" || tag == "-" {
		return nil, nil
	}
	path += "." + sf.Name
	if !sf.IsExported() {
		return nil, errors.Errorf("config: %s is tagged %q but not exported", path, tag)
	}
	if tag != ",inline" {
		if strings.ContainsAny(tag, ",.[ ") {
			return nil, errors.Errorf("config: %s is tagged %q; want a name alone, or \",inline\"", path, tag)
		}
		return []field{{name: tag, index: sf.Index, typ: sf.Type, tag: sf.Tag}}, nil
	}
	if sf.Type.Kind() != reflect.Struct {
		return nil, errors.Errorf("config: %s is inlined; want a struct, got %s", path, sf.Type)
	}
	inner, err := fieldsOf(sf.Type, path)
	for i := range inner {
		inner[i].index = append(append([]int(nil), sf.Index...), inner[i].index...)
	}
	return inner, err
}

// find returns the field of that name in struct type t.
func (s schema) find(t reflect.Type, name string) (field, bool) {
	for _, f := range s[t] {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// names lists the keys of struct type t.
func (s schema) names(t reflect.Type) []string {
	names := make([]string, len(s[t]))
	for i, f := range s[t] {
		names[i] = f.name
	}
	return names
}

// paths lists the dotted keys below struct type t, sections before what they
// hold. What stands in lists and maps has no fixed path and is left out.
func (s schema) paths(t reflect.Type) []string {
	var all []string
	open := map[reflect.Type]bool{} // a recursive type is entered once
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		if open[t] {
			return
		}
		open[t] = true
		for _, f := range s[t] {
			all = append(all, prefix+f.name)
			walk(pointee(f.typ), prefix+f.name+".")
		}
		open[t] = false
	}
	walk(t, "")
	return all
}

// walk visits every key of the struct v in the order of declaration, a section before
// what it holds, a section that is nil as an empty one.
func (s schema) walk(v reflect.Value, visit func(key string, f field, v reflect.Value)) {
	s.walkBelow(v, "", visit)
}

func (s schema) walkBelow(v reflect.Value, section string, visit func(key string, f field, v reflect.Value)) {
	for _, f := range s[v.Type()] {
		key, value := joined(section, f.name), v.FieldByIndex(f.index)
		if f.typ.Kind() == reflect.Pointer {
			value = pointeeCopy(value).Elem()
		}
		visit(key, f, value)
		if value.Kind() == reflect.Struct {
			s.walkBelow(value, key, visit)
		}
	}
}

// pointee is the type that a pointer type points to, and any other type itself.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func isInt(k reflect.Kind) bool  { return k >= reflect.Int && k <= reflect.Int64 }
func isUint(k reflect.Kind) bool { return k >= reflect.Uint && k <= reflect.Uint64 }
