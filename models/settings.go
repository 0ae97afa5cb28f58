package models

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/yamltag"
	"github.com/residua-go/residua/stream"
)

// A design's settings are the fields of its struct that have a yaml tag, as are a config's.

// settingsOf lists those of a struct and of the structs embedded in it, in order; none of what is
// not a struct or has tags that no config can have, a design that Resolve or package config refuses.
func settingsOf(t reflect.Type) []yamltag.Field {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	fields, _ := yamltag.Fields(t, t.String())
	return fields
}

// Sizes are the settings of a design, of a stream or of a feed-forward, that are whole numbers
// above 0, as "d_model=64", and the keys of those that are on, in order.
func Sizes(design any) (words []string) {
	v := reflect.ValueOf(design)
	for _, s := range settingsOf(v.Type()) {
		switch value := v.FieldByIndex(s.Index).Interface().(type) {
		case int:
			if value > 0 {
				words = append(words, fmt.Sprintf("%s=%d", s.Key, value))
			}
		case bool:
			if value {
				words = append(words, s.Key)
			}
		}
	}
	return words
}

// hasSetting tells whether a design has a setting of that key.
func hasSetting(design any, key string) bool {
	return slices.ContainsFunc(settingsOf(reflect.TypeOf(design)), func(f yamltag.Field) bool { return f.Key == key })
}

// withChanges is a copy of a design, a struct, with its fields changed.
func withChanges[D any](design D, change func(v reflect.Value)) D {
	v := reflect.New(reflect.TypeOf(design)).Elem()
	v.Set(reflect.ValueOf(design))
	change(v)
	return v.Interface().(D)
}

// withCommon is a design with what the model says to it.
func withCommon(d stream.Design, common stream.Common) stream.Design {
	return withChanges(d, func(v reflect.Value) { v.FieldByName(commonField).Set(reflect.ValueOf(common)) })
}

// commonField is the field of every design's struct.
const commonField = "Common"

// isDesign tells whether a design is a struct that embeds stream.Common.
func isDesign(d stream.Design) bool {
	if !isStruct(d) {
		return false
	}
	f, ok := reflect.TypeOf(d).FieldByName(commonField)
	return ok && f.Type == reflect.TypeFor[stream.Common]()
}

// isStruct tells whether a design is there and a struct, not a pointer to one.
func isStruct(design any) bool {
	return design != nil && reflect.TypeOf(design).Kind() == reflect.Struct
}

// kindKey is the key of a section's kind.
const kindKey = "kind"

// leaf is a value that is not a section, by dotted key.
type leaf struct {
	key   string
	value any
}

// leaves are a section's, in reading order; those of an optional section that is not there are
// left out.
func leaves(prefix string, section reflect.Value) []leaf {
	var all []leaf
	for _, s := range settingsOf(section.Type()) {
		v, key := section.FieldByIndex(s.Index), prefix+s.Key
		if v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
			if v.IsNil() {
				continue
			}
			if k, ok := v.Interface().(Kind); ok {
				if s.Key == kindKey { // of the section itself
					key = strings.TrimSuffix(prefix, ".")
				}
				all = append(all, leaf{key + "." + kindKey, k.Name()})
			}
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			all = append(all, leaf{key, v.Interface()})
			continue
		}
		all = append(all, leaves(key+".", v)...)
	}
	return all
}

// valueOf is the value at a key, nil if there is none.
func valueOf(all []leaf, key string) any {
	for _, l := range all {
		if l.key == key {
			return l.value
		}
	}
	return nil
}
