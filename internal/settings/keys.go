package settings

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Key describes one key, as told by its field's tags.
type Key struct {
	Name    string `json:"name"`              // dotted, as in train.steps
	Type    string `json:"type"`              // "integer", "list of strings", "section", ...
	Default string `json:"default,omitempty"` // in YAML, or how it follows from other keys; "" for a section
	Bounds  string `json:"bounds,omitempty"`  // of numbers: "1 to 65536", ">= 0", or ""
	Help    string `json:"help"`              // its meaning
	Local   bool   `json:"local,omitempty"`   // the key names files, and JSON may not have it
	Kinds   string `json:"kinds,omitempty"`   // kinds of its section that have the key, as in "hyper, mhc"; "": all, or the section has no kind
}

// IsSection tells whether a key holds further keys instead of a value.
func (k Key) IsSection() bool { return k.Type == "section" }

// Keys lists every key of a struct, whose values are the defaults, in the order of declaration,
// each section before its keys. A key in a section with a kind is listed once for each of its
// meanings.
func Keys(k Kinds, defaults any) ([]Key, error) {
	of := reflect.Indirect(reflect.ValueOf(defaults))
	s, err := schemaOf(of, k)
	if err != nil {
		return nil, err
	}
	var keys []Key
	listed, shared := "\x00", map[string]bool{} // key prefix of the current section with a kind, and the names of kinds of sections with shared keys
	s.walk(of, func(name string, f field, v reflect.Value) {
		if strings.HasPrefix(name, listed) || shared[name] {
			return
		}
		if f.isOwnKind() {
			for _, k := range s.keysOfKinds(strings.TrimSuffix(name, "."+KindKey), f) {
				shared[k.Name] = true
				keys = append(keys, k)
			}
			return
		}
		keys = append(keys, keyOf(name, f, v))
		if f.isKinded() && f.sameKind() == "" {
			listed = name + "."
			inner := s.keysOfKinds(name, f)
			if !f.isSection(v) { // otherwise the kinds describe it
				keys[len(keys)-1].Help += "; " + inner[0].Help
				inner = inner[1:]
			}
			keys = append(keys, inner...)
		}
	})
	return keys, nil
}

// keysOfKinds returns the keys of a section that has a kind.
func (s schema) keysOfKinds(section string, of field) []Key {
	t := of.Type
	keys := []Key{keyOf(joined(section, KindKey), of.kindField(), reflect.ValueOf(""))}
	keys[0].Help = oneOfText(s.kinds.names(t))
	owners := map[Key][]string{}
	for _, prototype := range s.kinds[t] {
		v := reflect.ValueOf(prototype)
		for _, e := range s.entries(v, field{}, section) {
			k := keyOf(e.key, e.field, e.value)
			if owners[k] == nil {
				keys = afterNamesakes(keys, k)
			}
			owners[k] = append(owners[k], prototype.Name())
		}
	}
	for i, k := range keys {
		keys[i].Kinds = kindsText(owners[k], s.kinds.names(t))
	}
	return keys
}

// afterNamesakes inserts a key after the last one with the same name, otherwise at the end.
func afterNamesakes(keys []Key, k Key) []Key {
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i].Name == k.Name {
			return slices.Insert(keys, i+1, k)
		}
	}
	return append(keys, k)
}

// kindsText names the kinds that have a key, some of all: "matrix, hyper" or "all but moe", and ""
// if all have it.
func kindsText(some, all []string) string {
	others := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(some, name) })
	switch {
	case len(some) == 0 || len(others) == 0:
		return ""
	case len(others) < len(some) && len(others) < 3:
		return "all but " + strings.Join(others, ", ")
	}
	return strings.Join(some, ", ")
}

// keyOf returns the key of a field whose default value is v.
func keyOf(name string, f field, v reflect.Value) Key {
	k := Key{Name: name, Type: "section", Help: f.Tag.Get("help"), Local: f.Tag.Get("local") != ""}
	if f.isSection(v) {
		return k
	}
	k.Type = strings.TrimPrefix(strings.TrimPrefix(wantKind(v.Type()), "an "), "a ")
	k.Default = cmp.Or(f.Tag.Get("default"), valueText(v))
	switch least, most := f.Tag.Get("min"), f.Tag.Get("max"); {
	case least != "" && most != "":
		k.Bounds = least + " to " + most
	case least != "":
		k.Bounds = ">= " + least
	case most != "":
		k.Bounds = "<= " + most
	}
	return k
}
