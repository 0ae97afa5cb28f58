package settings

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// Key is what the tags of its field say of one key.
type Key struct {
	Name    string `json:"name"`              // dotted, as in train.steps
	Type    string `json:"type"`              // "integer", "list of strings", "section", ...
	Default string `json:"default,omitempty"` // in YAML, or how it follows from other keys; "" for a section
	Bounds  string `json:"bounds,omitempty"`  // of numbers: "1 to 65536", ">= 0", or ""
	Help    string `json:"help"`              // its meaning
	Local   bool   `json:"local,omitempty"`   // it names files, and JSON has no such key
	Kinds   string `json:"kinds,omitempty"`   // those of its section that have it, as "hyper, mhc"; "": all, or the section has no kind
}

// IsSection tells whether a key holds further keys and no value.
func (k Key) IsSection() bool { return k.Type == "section" }

// Keys lists every key of what is read into a struct, whose values are the defaults, in the order of
// declaration, a section before its keys. A key of a section that has a kind is there once for each
// meaning.
func Keys(k Kinds, defaults any) ([]Key, error) {
	of := reflect.Indirect(reflect.ValueOf(defaults))
	s, err := schemaOf(of, k)
	if err != nil {
		return nil, err
	}
	var keys []Key
	listed, shared := "\x00", map[string]bool{} // prefix of the keys of a section of a kind, keys of kinds in a section that they share
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
			if !f.isSection(v) { // the kinds stand for it
				keys[len(keys)-1].Help += "; " + inner[0].Help
				inner = inner[1:]
			}
			keys = append(keys, inner...)
		}
	})
	return keys, nil
}

// keysOfKinds are those of a section of a kind.
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

// afterNamesakes is the list with a key after those of its name, else at the end.
func afterNamesakes(keys []Key, k Key) []Key {
	for i := len(keys) - 1; i >= 0; i-- {
		if keys[i].Name == k.Name {
			return slices.Insert(keys, i+1, k)
		}
	}
	return append(keys, k)
}

// kindsText names some of all kinds.
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

// keyOf is the key of a field that has the value v by default.
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
