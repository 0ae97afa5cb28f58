package config

import (
	"reflect"
	"strings"
)

// Key is what is known about one key of a run config, from the tags of its field.
type Key struct {
	Name    string `json:"name"`              // dotted, as in train.steps
	Type    string `json:"type"`              // "integer", "list of strings", "section", ...
	Default string `json:"default,omitempty"` // in YAML, or how it follows from other keys; "" for a section
	Bounds  string `json:"bounds,omitempty"`  // of numbers: "1 to 65536", ">= 0", or ""
	Help    string `json:"help"`              // its meaning
}

// IsSection tells whether a key holds further keys and no value.
func (k Key) IsSection() bool { return k.Type == "section" }

// Keys lists every key that a run config may hold, in the order of declaration, a section
// before its keys.
func Keys() ([]Key, error) {
	run := Defaults()
	run.Model = run.Model.Resolve()
	s, err := schemaOf(reflect.TypeOf(run))
	if err != nil {
		return nil, err
	}
	var keys []Key
	s.walk(reflect.ValueOf(run), func(name string, f field, v reflect.Value) {
		keys = append(keys, keyOf(name, f, v))
	})
	return keys, nil
}

// keyOf is the key of a field that has the value v by default.
func keyOf(name string, f field, v reflect.Value) Key {
	k := Key{Name: name, Type: "section", Help: f.tag.Get("help")}
	if v.Kind() == reflect.Struct {
		return k
	}
	k.Type = strings.TrimPrefix(strings.TrimPrefix(wantKind(f.typ), "an "), "a ")
	k.Default = f.tag.Get("default")
	if k.Default == "" {
		k.Default = valueText(v)
	}
	switch least, most := f.tag.Get("min"), f.tag.Get("max"); {
	case least != "" && most != "":
		k.Bounds = least + " to " + most
	case least != "":
		k.Bounds = ">= " + least
	case most != "":
		k.Bounds = "<= " + most
	}
	return k
}
