package settings

import (
	"reflect"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/yamltag"
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
type schema struct {
	fields map[reflect.Type][]field
	kinds  Kinds
}

// schemaOf collects the schema of a struct type, of whose fields those of an interface type
// hold one of the kinds. It fails where the type holds what a config cannot: that is a
// mistake in the program, not in a config.
func schemaOf(root reflect.Type, k Kinds) (schema, error) {
	s := schema{map[reflect.Type][]field{}, k}
	if err := s.add(root, root.String()); err != nil {
		return s, err
	}
	for t := range k {
		for _, prototype := range k[t] {
			if err := s.addKind(reflect.TypeOf(prototype)); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// addKind enters the struct type of a kind.
func (s schema) addKind(t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return errors.Errorf("settings: %s is a kind of a section; want a struct", t)
	}
	if err := s.add(t, t.String()); err != nil {
		return err
	}
	if _, taken := s.find(t, KindKey); taken {
		return errors.Errorf("settings: %s has a field tagged %q, which is the key of its kind", t, KindKey)
	}
	return nil
}

// schemaFor collects the schema of a struct, with the kinds that its fields hold.
func schemaFor(v reflect.Value) (schema, error) {
	s, err := schemaOf(v.Type(), nil)
	if err != nil {
		return s, err
	}
	return s, s.addHeld(v)
}

// addHeld enters the struct types of the kinds that the fields of a struct hold.
func (s schema) addHeld(v reflect.Value) error {
	for _, f := range s.fields[v.Type()] {
		value := v.FieldByIndex(f.index)
		if k := value.Kind(); k == reflect.Pointer || k == reflect.Interface {
			value = value.Elem()
		}
		if f.isKinded() && value.IsValid() {
			if err := s.addKind(value.Type()); err != nil {
				return err
			}
		}
		if value.Kind() == reflect.Struct {
			if err := s.addHeld(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// add enters type t, which stands at the place in the program that path names.
func (s schema) add(t reflect.Type, path string) error {
	if isText(t) {
		return nil
	}
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
	return errors.Errorf("settings: %s has the type %s, which no setting can hold", path, t)
}

// addStruct enters struct type t and the types of its fields.
func (s schema) addStruct(t reflect.Type, path string) error {
	if _, known := s.fields[t]; known {
		return nil
	}
	fields, err := fieldsOf(t, path)
	if err != nil {
		return err
	}
	s.fields[t] = fields
	for _, f := range fields {
		if f.isKinded() {
			continue
		}
		if err := s.add(f.typ, path+"."+t.FieldByIndex(f.index).Name); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf lists the tagged fields of a struct.
func fieldsOf(t reflect.Type, path string) ([]field, error) {
	tagged, err := yamltag.Fields(t, path)
	var fields []field
	for _, f := range tagged {
		fields = append(fields, field{name: f.Key, index: f.Index, typ: f.Type, tag: f.Tag})
	}
	return fields, err
}

// find returns the field of that name in struct type t.
func (s schema) find(t reflect.Type, name string) (field, bool) {
	for _, f := range s.fields[t] {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// names lists the keys of struct type t.
func (s schema) names(t reflect.Type) []string {
	names := make([]string, len(s.fields[t]))
	for i, f := range s.fields[t] {
		names[i] = f.name
	}
	return names
}

// paths lists the dotted keys below struct type t, sections before what they
// hold, the keys of all kinds in one. What stands in lists and maps has no fixed path and is
// left out, as is a section that has another's kind.
func (s schema) paths(t reflect.Type) []string {
	var all []string
	open := map[reflect.Type]bool{} // a recursive type is entered once
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		if open[t] {
			return
		}
		open[t] = true
		for _, f := range s.fields[t] {
			path := prefix + f.name
			all = append(all, path)
			if f.typ.Kind() != reflect.Interface {
				walk(pointee(f.typ), path+".")
				continue
			}
			if f.sameKind() == "" {
				all = append(all, path+"."+KindKey)
				for _, name := range s.kindNames(f.typ) {
					all = append(all, path+"."+name)
				}
			}
		}
		open[t] = false
	}
	walk(t, "")
	return all
}

// entry is a key of a struct with its value: what a pointer points to, the struct that an
// interface holds; a pointer or an interface itself if it is nil.
type entry struct {
	field
	key   string // dotted
	value reflect.Value
}

// entries lists those of the struct v, the value of field f at key, its kind first.
func (s schema) entries(v reflect.Value, f field, key string) []entry {
	var all []entry
	if f.isKinded() && f.sameKind() == "" {
		all = append(all, entry{f.kindField(), joined(key, KindKey), reflect.ValueOf(kindOf(v))})
	}
	for _, f := range s.fields[v.Type()] {
		value := v.FieldByIndex(f.index)
		if k := value.Kind(); (k == reflect.Pointer || k == reflect.Interface) && !value.IsNil() {
			value = value.Elem()
		}
		all = append(all, entry{f, joined(key, f.name), value})
	}
	return all
}

// walk visits every key of the struct v in the order of declaration, a section before
// what it holds, a section that is nil as an empty one, but as nil where it would have a kind.
func (s schema) walk(v reflect.Value, visit func(key string, f field, v reflect.Value)) {
	s.walkBelow(v, field{}, "", visit)
}

func (s schema) walkBelow(v reflect.Value, of field, key string, visit func(key string, f field, v reflect.Value)) {
	for _, e := range s.entries(v, of, key) {
		if e.value.Kind() == reflect.Pointer {
			e.value = pointeeCopy(e.value).Elem()
		}
		visit(e.key, e.field, e.value)
		if e.value.Kind() == reflect.Struct {
			s.walkBelow(e.value, e.field, e.key, visit)
		}
	}
}

// Entry is one key of a struct that was read, with what its field holds.
type Entry struct {
	Key     string // dotted
	Value   reflect.Value
	Derived bool // its default follows from other keys
	Section bool // it holds further keys, or would if it were not nil
	Pointer bool // its field is a pointer
	Tag     reflect.StructTag
}

// Entries lists every key of the struct v in the order of declaration, a section before what it holds.
func Entries(v any) ([]Entry, error) {
	of := reflect.ValueOf(v)
	s, err := schemaFor(of)
	if err != nil {
		return nil, err
	}
	var all []Entry
	s.walk(of, func(key string, f field, v reflect.Value) {
		pointer := f.typ.Kind() == reflect.Pointer
		all = append(all, Entry{key, v, f.tag.Get("from") != "", v.Kind() == reflect.Struct || f.isKinded(), pointer, f.tag})
	})
	return all, nil
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
