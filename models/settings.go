package models

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/residua-go/residua/internal/yamltag"
	"github.com/residua-go/residua/stream"
)

// The settings of a design, and of a config, are the fields of its struct that have a yaml tag.

// settingsOf lists the settings of a struct and of the structs embedded in it, in order. It returns
// none for a value that is not a struct or has invalid tags; Resolve or package runconfig refuses
// such a design.
func settingsOf(t reflect.Type) []yamltag.Field {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	fields, _ := yamltag.Fields(t, t.String())
	return fields
}

// Sizes lists, in order, the settings of a stream's or feed-forward's design that are whole numbers
// above 0, as "d_model=64", and the keys of the switches that are on.
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

// withChanges returns a copy of a design, a struct, whose fields change has changed.
func withChanges[D any](design D, change func(v reflect.Value)) D {
	v := reflect.New(reflect.TypeOf(design)).Elem()
	v.Set(reflect.ValueOf(design))
	change(v)
	return v.Interface().(D)
}

// commonSetter is implemented by pointers to structs that embed stream.Common.
type commonSetter interface{ SetCommon(common stream.Common) }

// withCommon returns a design with the settings that the model gives to every stream.
func withCommon(d stream.Design, common stream.Common) stream.Design {
	return withChanges(d, func(v reflect.Value) { v.Addr().Interface().(commonSetter).SetCommon(common) })
}

// isDesign tells whether a design is a struct that embeds stream.Common.
func isDesign(d stream.Design) bool {
	return isStruct(d) && reflect.PointerTo(reflect.TypeOf(d)).Implements(reflect.TypeFor[commonSetter]())
}

// isStruct tells whether a design is a struct, neither nil nor a pointer to one.
func isStruct(design any) bool {
	return design != nil && reflect.TypeOf(design).Kind() == reflect.Struct
}
