package models

import (
	"reflect"
	"slices"
	"sync"

	"github.com/residua-go/residua/stream"
)

// entry is a design of the list, with the way from a config's keys to its settings.
type entry struct {
	design   stream.Design // without settings
	settings []setting
}

// setting is a field of a design that configs have a key for.
type setting struct {
	key    string
	design []int // the indices of the design's field
	config []int // of Config's
	base   []int // of MuP's base size; nil: it has none
}

// entries are the designs by name. They are what the structs say, and worked out once.
var entries = sync.OnceValue(func() map[string]entry {
	config, bases := keyed(reflect.TypeFor[Config]()), keyed(reflect.TypeFor[MuP]())
	all := map[string]entry{}
	for _, d := range Designs() {
		e := entry{design: d}
		for _, f := range keyed(reflect.TypeOf(d)) {
			e.settings = append(e.settings, setting{f.key, f.index, indexOf(config, f.key), indexOf(bases, basePrefix+f.key)})
		}
		all[d.Name()] = e
	}
	return all
})

// keys are those of the settings.
func (e entry) keys() []string {
	var keys []string
	for _, s := range e.settings {
		keys = append(keys, s.key)
	}
	return keys
}

// of is the design with the settings of a config, defaults included.
func (e entry) of(c Config) stream.Design {
	from := reflect.ValueOf(c)
	return altered(e.design, func(v reflect.Value) {
		for _, s := range e.settings {
			v.FieldByIndex(s.design).Set(from.FieldByIndex(s.config))
		}
	}).Defaults()
}

// base is the design with the settings of a muP base.
func (e entry) base(m MuP) stream.Design {
	from := reflect.ValueOf(m)
	return altered(e.design, func(v reflect.Value) {
		for _, s := range e.settings {
			if s.base != nil {
				v.FieldByIndex(s.design).Set(from.FieldByIndex(s.base))
			}
		}
	})
}

// into is the config with the settings of a design.
func (e entry) into(c Config, d stream.Design) Config {
	to, from := reflect.ValueOf(&c).Elem(), reflect.ValueOf(d)
	for _, s := range e.settings {
		to.FieldByIndex(s.config).Set(from.FieldByIndex(s.design))
	}
	return c
}

// WithStream is the config with the stream of a design's settings instead of its own.
func (c Config) WithStream(d stream.Design) Config {
	v := reflect.ValueOf(&c).Elem()
	for _, s := range entries()[c.Stream].settings {
		v.FieldByIndex(s.config).SetZero()
	}
	c.Stream = d.Name()
	return entries()[c.Stream].into(c, d)
}

// onStream is the config with the stream of another, and with those of its settings that c's
// own stream does not have.
func (c Config) onStream(other Config) Config {
	kept, from, to := entries()[c.Stream].keys(), reflect.ValueOf(other), reflect.ValueOf(&c).Elem()
	for _, s := range entries()[other.Stream].settings {
		if !slices.Contains(kept, s.key) {
			to.FieldByIndex(s.config).Set(from.FieldByIndex(s.config))
		}
	}
	c.Stream = other.Stream
	return c
}

// owners are the streams that have a setting, in the order of the list.
func owners(key string) []string {
	var names []string
	for _, name := range Streams() {
		if slices.Contains(entries()[name].keys(), key) {
			names = append(names, name)
		}
	}
	return names
}

// altered is a copy of a design with its fields changed.
func altered(d stream.Design, change func(v reflect.Value)) stream.Design {
	v := reflect.New(reflect.TypeOf(d)).Elem()
	v.Set(reflect.ValueOf(d))
	change(v)
	return v.Interface().(stream.Design)
}

// keyedField is a field of a struct that configs have a key for.
type keyedField struct {
	key   string
	index []int
}

// keyed lists those of a struct and of the structs embedded in it, in order.
func keyed(t reflect.Type) []keyedField {
	var fields []keyedField
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" && key != "-" {
			fields = append(fields, keyedField{key, f.Index})
		}
	}
	return fields
}

// indexOf finds a key's field, nil if there is none.
func indexOf(fields []keyedField, key string) []int {
	for _, f := range fields {
		if f.key == key {
			return f.index
		}
	}
	return nil
}
