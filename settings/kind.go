package settings

import (
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/residua-go/residua/internal/spelling"
)

// A section may hold one of several structs: the field that it stands for has an interface
// type, and the key kind chooses the struct. The keys of the section are kind and those of
// that struct.

// KindKey is the key of a section's kind.
const KindKey = "kind"

// kindField is that key, with the default that the section's field names.
func (f field) kindField() field {
	text := f.Tag.Get("default")
	if text == "" {
		text = "required, or preset"
	}
	return field{Key: KindKey, Type: reflect.TypeFor[string](), Tag: reflect.StructTag(`default:"` + text + `"`)}
}

// Kinded is what a section of a kind holds. Name is the kind.
type Kinded interface{ Name() string }

// Kinds are the structs that a field of an interface type may hold, by that type; a section
// of a kind starts as a copy of it.
type Kinds map[reflect.Type][]Kinded

// isKinded tells whether a field stands for a section of a kind.
func (f field) isKinded() bool {
	return f.Type != nil && f.Type.Kind() == reflect.Interface && f.Type.Implements(reflect.TypeFor[Kinded]())
}

// sameKind is the dotted key of the section whose kind a field's section has, "" if it has
// one of its own. Such a section has no key kind, and starts with zeros.
func (f field) sameKind() string { return f.Tag.Get("kind") }

// kindOf is the kind of a struct.
func kindOf(v reflect.Value) string { return v.Interface().(Kinded).Name() }

// names are the kinds of a type, in order.
func (k Kinds) names(t reflect.Type) []string {
	var names []string
	for _, prototype := range k[t] {
		names = append(names, prototype.Name())
	}
	return names
}

// find returns a new copy of the kind of that name.
func (k Kinds) find(t reflect.Type, name string) (reflect.Value, bool) {
	for _, prototype := range k[t] {
		if prototype.Name() == name {
			return structCopy(reflect.ValueOf(prototype)), true
		}
	}
	return reflect.Value{}, false
}

// structCopy is a copy of a struct whose fields can be set.
func structCopy(v reflect.Value) reflect.Value {
	fresh := reflect.New(v.Type()).Elem()
	fresh.Set(v)
	return fresh
}

// siblings are the kinds of the section that may hold struct type t.
func (k Kinds) siblings(t reflect.Type) []Kinded {
	for _, list := range k {
		if slices.ContainsFunc(list, func(p Kinded) bool { return reflect.TypeOf(p) == t }) {
			return list
		}
	}
	return nil
}

// owners are those of some kinds that have a key.
func (s schema) owners(list []Kinded, name string) []string {
	var names []string
	for _, prototype := range list {
		if _, has := s.find(reflect.TypeOf(prototype), name); has {
			names = append(names, prototype.Name())
		}
	}
	return names
}

// kindNames are the keys that the kinds of a type have, each once.
func (s schema) kindNames(t reflect.Type) []string {
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

// kindSection stores the entries of a map in the struct of the kind that they name, or else
// of the one that v holds. Another kind than that leaves nothing of the old values.
func (d *decoder) kindSection(n ast.Node, line int, key string, v reflect.Value) error {
	entries, ok := entriesOf(n)
	if !ok {
		return d.noSection(n, line, key, v.Type())
	}
	fresh, err := d.choose(entries, line, key, v)
	if err != nil {
		return err
	}
	if err := d.fields(entries, line, key, fresh, KindKey); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

// choose returns the struct that a section's entries are stored in.
func (d *decoder) choose(entries []*ast.MappingValueNode, line int, key string, v reflect.Value) (reflect.Value, error) {
	for _, entry := range entries {
		if name, _ := nameOf(entry.Key); name == KindKey {
			return d.chosen(entry.Value, line, lineOf(entry.Key, line), key, v)
		}
	}
	switch {
	case v.IsNil() && d.leadsThrough(key):
		return v, d.errorAt(0, d.path, "want %s.%s first, %s", key, KindKey, oneOfText(d.Kinds.names(v.Type())))
	case v.IsNil():
		return v, d.errorAt(line, joined(key, KindKey), "want %s, got nothing", oneOfText(d.Kinds.names(v.Type())))
	}
	return structCopy(v.Elem()), nil
}

// chosen returns the struct of the kind that a node names: a copy of v's own, if it is of that
// kind. The section begins at line, its key kind stands at another.
func (d *decoder) chosen(n ast.Node, line, at int, section string, v reflect.Value) (reflect.Value, error) {
	var name string
	key := joined(section, KindKey)
	if err := d.value(n, at, key, reflect.ValueOf(&name).Elem()); err != nil {
		return v, err
	}
	if !v.IsNil() && kindOf(v.Elem()) == name {
		return structCopy(v.Elem()), nil
	}
	names := d.Kinds.names(v.Type())
	fresh, known := d.Kinds.find(v.Type(), name)
	if !known {
		if hint := spelling.Hint(name, names); hint != "" {
			return v, d.errorAt(at, key, "unknown kind %s%s", quoted(name), hint)
		}
		return v, d.errorAt(at, key, "want %s, got %s", oneOfText(names), quoted(name))
	}
	if lost := d.before.assigned(section); lost != "" {
		return v, d.errorAt(at, key, "another kind discards %s, which was set before: set the kind first", lost)
	}
	d.given(line, section, true)
	return fresh, nil
}

// assigned is a key below section that an assignment has given, "" if there is none.
func (p *Positions) assigned(section string) string {
	if p == nil {
		return ""
	}
	var keys []string
	for key, position := range p.at {
		if position == setPosition && key != joined(section, KindKey) && strings.HasPrefix(key, section+".") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return slices.Min(keys)
}

// oneOfText is "one of a, b".
func oneOfText(names []string) string { return "one of " + strings.Join(names, ", ") }
