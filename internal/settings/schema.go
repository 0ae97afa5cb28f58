package settings

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/yamltag"
)

// field is a key that a section may hold.
type field yamltag.Field

// schema lists the keys of every struct type that a config reaches, in the order of declaration.
type schema struct {
	fields map[reflect.Type][]field
	kinds  Kinds
}

// schemaOf collects the schema of the struct v, including the kinds that its fields may hold,
// which k lists. It fails if v contains something that a config cannot hold; that is a mistake
// in the program, not in a config.
func schemaOf(v reflect.Value, k Kinds) (schema, error) {
	s := schema{map[reflect.Type][]field{}, k}
	if err := s.addStruct(v, v.Type().String()); err != nil {
		return s, err
	}
	for _, prototypes := range k {
		for _, prototype := range prototypes {
			if err := s.addKind(reflect.ValueOf(prototype)); err != nil {
				return s, err
			}
		}
	}
	return s, s.checkShared(k)
}

// addKind adds the struct of a kind.
func (s schema) addKind(v reflect.Value) error {
	t := v.Type()
	if t.Kind() != reflect.Struct {
		return errors.Errorf("settings: %s is a kind of a section; want a struct", t)
	}
	if err := s.addStruct(v, t.String()); err != nil {
		return err
	}
	if _, taken := s.find(t, KindKey); taken {
		return errors.Errorf("settings: %s has a field tagged %q, which is the key of its kind", t, KindKey)
	}
	return nil
}

// add adds the type of a value; path says where in the program it stands.
func (s schema) add(v reflect.Value, path string) error {
	t := v.Type()
	switch k := t.Kind(); {
	case isText(t) && k != reflect.Slice && k != reflect.Map || k == reflect.String || k == reflect.Bool || isInt(k) || isUint(k) || isFloat(k):
		return nil
	case k == reflect.Struct:
		return s.addStruct(v, path)
	case k == reflect.Slice || k == reflect.Map && t.Key().Kind() == reflect.String:
		return s.add(reflect.Zero(t.Elem()), path+"[]")
	case k == reflect.Pointer && !slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Elem().Kind()):
		return s.add(pointeeCopy(v).Elem(), path)
	}
	return errors.Errorf("settings: %s has the type %s, which no setting can hold", path, t)
}

// addStruct adds the type of the struct v and the types of its fields.
func (s schema) addStruct(v reflect.Value, path string) error {
	t := v.Type()
	if s.fields[t] != nil && v.IsZero() {
		return nil
	}
	fields, err := fieldsOf(t, path)
	if err != nil {
		return err
	}
	s.fields[t] = fields
	for _, f := range fields {
		value := v.FieldByIndex(f.Index)
		switch {
		case !f.isKinded():
			err = s.add(value, path+"."+t.FieldByIndex(f.Index).Name)
		case !value.IsNil():
			err = s.addKind(value.Elem())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf lists the tagged fields of a struct.
func fieldsOf(t reflect.Type, path string) ([]field, error) {
	tagged, err := yamltag.Fields(t, path)
	fields := []field{} // not nil, so that a type without fields is known, too
	for _, f := range tagged {
		owner := t
		if within := f.Index[:len(f.Index)-1]; len(within) > 0 {
			owner = t.FieldByIndex(within).Type
		}
		if help, ok := reflect.Zero(owner).Interface().(Helper); ok && help.Help()[f.Key] != "" {
			f.Tag += reflect.StructTag(fmt.Sprintf(" help:%q", help.Help()[f.Key]))
		}
		fields = append(fields, field(f))
	}
	return fields, err
}

// Helper is a struct of settings some of whose help texts are too long for tags. Help returns them
// by key.
type Helper interface{ Help() map[string]string }

// find returns the field of that name in struct type t.
func (s schema) find(t reflect.Type, name string) (field, bool) {
	for _, f := range s.fields[t] {
		if f.Key == name {
			return f, true
		}
	}
	return field{}, false
}

// names lists the keys of struct type t.
func (s schema) names(t reflect.Type) []string {
	var names []string
	for _, f := range s.fields[t] {
		names = append(names, f.Key)
	}
	return names
}

// paths lists the dotted keys below struct type t: each section before its content, and in a
// section with kinds the keys of all of them. It leaves out the content of lists and maps, which
// has no fixed path, and of sections whose kind another section names.
func (s schema) paths(t reflect.Type) []string {
	var all []string
	open := map[reflect.Type]bool{} // a recursive type is entered only once
	var walk func(t reflect.Type, prefix string)
	walk = func(t reflect.Type, prefix string) {
		if open[t] {
			return
		}
		open[t] = true
		for _, f := range s.fields[t] {
			path := prefix + f.Key
			all = append(all, path)
			if f.isOwnKind() {
				for _, name := range s.kindKeys(f.Type) {
					all = append(all, prefix+name)
				}
				continue
			}
			if f.Type.Kind() != reflect.Interface {
				walk(pointee(f.Type), path+".")
			} else if f.sameKind() == "" {
				for _, name := range append([]string{KindKey}, s.kindKeys(f.Type)...) {
					all = append(all, path+"."+name)
				}
			}
		}
		open[t] = false
	}
	walk(t, "")
	return all
}

// entry is a key of a struct with its value. A pointer or an interface that is not nil is
// replaced by what it holds, and a section by the name of its kind if that is what is written.
type entry struct {
	field
	key   string // dotted
	value reflect.Value
}

// entries lists the entries of the struct v, which is the value of field f at key, its kind first.
func (s schema) entries(v reflect.Value, f field, key string) []entry {
	var all []entry
	if f.isKinded() && f.sameKind() == "" {
		all = append(all, entry{f.kindField(), joined(key, KindKey), reflect.ValueOf(kindOf(v))})
	}
	for _, f := range s.fields[v.Type()] {
		value := v.FieldByIndex(f.Index)
		if k := value.Kind(); (k == reflect.Pointer || k == reflect.Interface) && !value.IsNil() {
			value = value.Elem()
		}
		if f.isWord() && value.Kind() == reflect.Struct && len(s.fields[value.Type()]) == 0 {
			value = reflect.ValueOf(kindOf(value))
		}
		switch {
		case f.isOwnKind() && value.Kind() == reflect.Struct:
			all = append(all, entry{f, joined(key, KindKey), reflect.ValueOf(kindOf(value))})
			all = append(all, s.entries(value, field{}, key)...)
		case f.isOwnKind():
			all = append(all, entry{f, joined(key, KindKey), reflect.ValueOf(f.Tag.Get("default"))})
		default:
			all = append(all, entry{f, joined(key, f.Key), value})
		}
	}
	return all
}

// walk visits every key of the struct v in the order of declaration, each section before its
// content. A nil section is visited as an empty one; a nil section with a kind is visited as
// nil.
func (s schema) walk(v reflect.Value, visit func(key string, f field, v reflect.Value)) {
	s.walkFrom(entry{value: v}, visit)
}

func (s schema) walkFrom(of entry, visit func(key string, f field, v reflect.Value)) {
	for _, e := range s.entries(of.value, of.field, of.key) {
		if e.value.Kind() == reflect.Pointer {
			e.value = pointeeCopy(e.value).Elem()
		}
		visit(e.key, e.field, e.value)
		if e.value.Kind() == reflect.Struct {
			s.walkFrom(e, visit)
		}
	}
}

// Entry is a key of a struct, with the value of its field.
type Entry struct {
	Key     string // dotted
	Value   reflect.Value
	Section bool // it holds further keys, or would if it were not nil
	Pointer bool // its field is a pointer
	Tag     reflect.StructTag
}

// Entries lists every key of the struct v in the order of declaration, each section before its
// content.
func Entries(v any) ([]Entry, error) {
	of := reflect.ValueOf(v)
	s, err := schemaOf(of, nil)
	if err != nil {
		return nil, err
	}
	var all []Entry
	s.walk(of, func(key string, f field, v reflect.Value) {
		pointer := f.Type.Kind() == reflect.Pointer
		all = append(all, Entry{key, v, f.isSection(v), pointer, f.Tag})
	})
	return all, nil
}

// pointee returns the type that a pointer type points to, and any other type unchanged.
func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func isInt(k reflect.Kind) bool   { return k >= reflect.Int && k <= reflect.Int64 }
func isUint(k reflect.Kind) bool  { return k >= reflect.Uint && k <= reflect.Uint64 }
func isFloat(k reflect.Kind) bool { return k == reflect.Float32 || k == reflect.Float64 }
