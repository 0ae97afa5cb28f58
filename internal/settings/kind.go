package settings

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// A section may hold one of several structs: its field has an interface type, and the key kind
// chooses the struct. The keys of the section are kind and those of that struct.
//
// A section may also have keys that all kinds share: its struct then has a field of an
// interface type for the key kind. The keys of the section are the struct's own and those of
// the struct in that field; nil there stands for the kind that the field's tag default names.

// KindKey is the key of a section's kind.
const KindKey = "kind"

// kindField returns the key kind of a section as a field, with the default that the section's tag
// names.
func (f field) kindField() field {
	text := cmp.Or(f.Tag.Get("default"), "required, or preset")
	return field{Key: KindKey, Type: reflect.TypeFor[string](), Tag: reflect.StructTag(`default:"` + text + `"`)}
}

// Kinded is implemented by the structs that such a section may hold. Name returns the kind.
type Kinded interface{ Name() string }

// Kinds lists the structs that a field of an interface type may hold, by that type. A new section
// starts as a copy of the struct of its kind.
type Kinds map[reflect.Type][]Kinded

// isKinded tells whether a field stands for a section of a kind.
func (f field) isKinded() bool {
	return f.Type != nil && f.Type.Kind() == reflect.Interface && f.Type.Implements(reflect.TypeFor[Kinded]())
}

// isWord tells whether the name of a kind without keys may be written instead of a section.
func (f field) isWord() bool { return f.Tag.Get("word") != "" }

// isSection tells whether a field with the value v holds further keys, and is not written as the
// name of a kind.
func (f field) isSection(v reflect.Value) bool {
	return v.Kind() == reflect.Struct || f.isKinded() && v.Kind() != reflect.String
}

// isOwnKind tells whether a field holds the kind of the section that contains it.
func (f field) isOwnKind() bool { return f.Key == KindKey && f.isKinded() }

// ownKind returns the field that holds the kind of a section of struct type t.
func (s schema) ownKind(t reflect.Type) (field, bool) {
	f, ok := s.find(t, KindKey)
	return f, ok && f.isKinded()
}

// checkShared returns an error if a kind has a key that all kinds of its section share.
func (s schema) checkShared(k Kinds) error {
	for t := range s.fields {
		own, ok := s.ownKind(t)
		if !ok {
			continue
		}
		for _, prototype := range k[own.Type] {
			for _, name := range s.names(reflect.TypeOf(prototype)) {
				if _, shared := s.find(t, name); shared {
					return errors.Errorf("settings: %T has a field tagged %q, a key that all kinds of its section share: rename it", prototype, name)
				}
			}
		}
	}
	return nil
}

// sameKind returns the dotted key of the section from which a field's section takes its kind,
// "" if it chooses its own. A section that takes its kind has no key kind, and its values
// start at zero.
func (f field) sameKind() string { return f.Tag.Get("kind") }

// kindOf returns the kind of a struct.
func kindOf(v reflect.Value) string { return v.Interface().(Kinded).Name() }

// names lists the kinds of a type, in order.
func (k Kinds) names(t reflect.Type) []string {
	var names []string
	for _, prototype := range k[t] {
		names = append(names, prototype.Name())
	}
	return names
}

// find returns a new copy of the struct of the named kind.
func (k Kinds) find(t reflect.Type, name string) (reflect.Value, bool) {
	for _, prototype := range k[t] {
		if prototype.Name() == name {
			return structCopy(reflect.ValueOf(prototype)), true
		}
	}
	return reflect.Value{}, false
}

// structCopy returns a copy of a struct, with fields that can be set.
func structCopy(v reflect.Value) reflect.Value {
	fresh := reflect.New(v.Type()).Elem()
	fresh.Set(v)
	return fresh
}

// siblings returns the structs that may stand in the same section as struct type t.
func (k Kinds) siblings(t reflect.Type) []Kinded {
	for _, list := range k {
		if slices.ContainsFunc(list, func(p Kinded) bool { return reflect.TypeOf(p) == t }) {
			return list
		}
	}
	return nil
}

// owners returns the names of the kinds in list that have a key.
func (s schema) owners(list []Kinded, name string) []string {
	var names []string
	for _, prototype := range list {
		if _, has := s.find(reflect.TypeOf(prototype), name); has {
			names = append(names, prototype.Name())
		}
	}
	return names
}

// kindKeys lists the keys of all kinds of a type, each once.
func (s schema) kindKeys(t reflect.Type) []string {
	var names []string
	for _, prototype := range s.kinds[t] {
		for _, name := range s.names(reflect.TypeOf(prototype)) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// kindSection stores the entries of a map in the struct of the kind that they name, or of v's
// present kind if they name none. If the kind changes, no old values are kept.
func (d *decoder) kindSection(at spot, v reflect.Value) error {
	entries, ok := entriesOf(at.node)
	if !ok {
		if s, _ := scalarOf(at.node); s.text != "" {
			if _, known := d.Kinds.find(v.Type(), s.text); known { // the name of a kind alone
				return d.refuse(at, "want a section: write %s: {%s: %s}", leafOf(at.key), KindKey, stringText(s.text))
			}
		}
		return d.mismatch(at, v.Type())
	}
	fresh, err := d.choose(entries, at, v)
	if err != nil {
		return err
	}
	if err := d.fields(entries, at.key, KindKey, fresh); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

// sharedSection stores the entries of a map in a struct and in the struct of the kind that its
// field own holds.
func (d *decoder) sharedSection(at spot, v reflect.Value, own field) error {
	entries, ok := entriesOf(at.node)
	if !ok {
		return d.mismatch(at, v.Type())
	}
	held := v.FieldByIndex(own.Index)
	if start, known := d.Kinds.find(own.Type, own.Tag.Get("default")); held.IsNil() && known {
		held.Set(start)
	}
	fresh, err := d.choose(entries, at, held)
	if err != nil {
		return err
	}
	if err := d.fields(entries, at.key, KindKey, v, fresh); err != nil {
		return err
	}
	held.Set(fresh)
	return nil
}

// choose returns the struct to store a section's entries in.
func (d *decoder) choose(entries []*ast.MappingValueNode, at spot, v reflect.Value) (reflect.Value, error) {
	key := joined(at.key, KindKey)
	for _, entry := range entries {
		if name, _ := nameOf(entry.Key); name == KindKey {
			return d.chosen(spot{entry.Value, lineOf(entry.Key, at.line), key}, at, v)
		}
	}
	if !v.IsNil() {
		return structCopy(v.Elem()), nil
	}
	kinds := oneOfText(d.Kinds.names(v.Type()))
	if d.leadsThrough(at.key) {
		return v, d.errorAt(0, d.path, "want %s first, %s", key, kinds)
	}
	return v, d.errorAt(at.line, key, "want %s, got nothing", kinds)
}

// chosen returns the struct for the key kind of a section: a copy of v's own if it has that kind.
func (d *decoder) chosen(at, section spot, v reflect.Value) (reflect.Value, error) {
	var name string
	if err := d.value(at, reflect.ValueOf(&name).Elem()); err != nil {
		return v, err
	}
	if !v.IsNil() && kindOf(v.Elem()) == name {
		return structCopy(v.Elem()), nil
	}
	names := d.Kinds.names(v.Type())
	fresh, known := d.Kinds.find(v.Type(), name)
	if !known {
		if hint := spelling.Hint(name, names); hint != "" {
			return v, d.errorAt(at.line, at.key, "unknown kind %s%s", quoted(name), hint)
		}
		return v, d.errorAt(at.line, at.key, "want %s, got %s", oneOfText(names), quoted(name))
	}
	if !v.IsNil() {
		for _, name := range d.schema.names(v.Elem().Type()) {
			key := joined(section.key, name)
			if d.before.assigned(key) {
				return v, d.errorAt(at.line, at.key, "another kind discards %s, which was set before: set the kind first", key)
			}
			d.forget(key)
		}
	}
	d.given(section.line, section.key, false)
	return fresh, nil
}

// assigned tells whether an assignment has set a key.
func (p *Positions) assigned(key string) bool { return p != nil && p.at[key] == setPosition }

// oneOfText returns "one of a, b".
func oneOfText(names []string) string { return "one of " + strings.Join(names, ", ") }
