package models_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/stream"
)

// namedDesign is a section with a kind.
type namedDesign interface{ Name() string }

// keysOf lists the settings of a struct and of its sections by dotted key. The settings of a
// section with a kind are listed for each kind in the zoo, as "stream.hyper.n"; the kind itself is
// "stream". The base of muP lists only the kinds that muP is known for.
func keysOf(prefix string, t reflect.Type, z models.Zoo, base bool) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := prefix + keyOf(f)
		switch kinds := kindsOf(f.Type, z, base); {
		case f.Anonymous:
			if f.Type != reflect.TypeFor[stream.Common]() { // filled in by the model, not settings
				keys = append(keys, keysOf(prefix, f.Type, z, base)...)
			}
		case keyOf(f) == "": // no user sets it
		case kinds != nil:
			if !base {
				keys = append(keys, key)
			}
			for _, k := range kinds {
				keys = append(keys, keysOf(key+"."+k.Name()+".", reflect.TypeOf(k), z, base)...)
			}
		case f.Type == reflect.TypeFor[*models.MuP]():
			keys = append(append(keys, key), keysOf(key+".", f.Type.Elem(), z, false)...)
		case f.Type.Kind() == reflect.Struct:
			keys = append(keys, keysOf(key+".", f.Type, z, base || f.Type == reflect.TypeFor[models.MuPBase]())...)
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// kindsOf returns the designs that a field can hold, or nil for a field of another type.
func kindsOf(t reflect.Type, z models.Zoo, base bool) []namedDesign {
	var kinds []namedDesign
	switch t {
	case reflect.TypeFor[stream.Design]():
		for _, d := range z.Streams() {
			if _, scaled := d.(stream.MuPDesign); scaled || !base {
				kinds = append(kinds, d)
			}
		}
	case reflect.TypeFor[layers.AttentionDesign]():
		for _, d := range z.Attentions() {
			kinds = append(kinds, d)
		}
	case reflect.TypeFor[stream.WritesDesign]():
		for _, d := range models.KindsOf[stream.WritesDesign](z) {
			kinds = append(kinds, d)
		}
	case reflect.TypeFor[layers.FeedForwardDesign]():
		for _, d := range z.FeedForwards() {
			kinds = append(kinds, d)
		}
	}
	return kinds
}

// keyOf returns a field's key in a config; its key in JSON if a run config has it in another
// section; or its name, in a struct without tags.
func keyOf(f reflect.StructField) string {
	key, tagged := f.Tag.Lookup("yaml")
	switch {
	case key == "-":
		key, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	case !tagged && f.Type.Kind() == reflect.Float64:
		key = f.Name // a field of models.Auxiliary
	}
	return key
}

// valuesOf returns the values of a struct's settings, by the keys of keysOf.
func valuesOf(prefix string, v reflect.Value) map[string]any {
	values := map[string]any{}
	for i := range v.NumField() {
		f, field := v.Type().Field(i), v.Field(i)
		key := prefix + keyOf(f)
		switch {
		case f.Anonymous:
			maps.Copy(values, valuesOf(prefix, field))
		case keyOf(f) == "":
		case field.Kind() == reflect.Interface:
			if k, ok := field.Interface().(namedDesign); ok {
				values[key] = k.Name()
				maps.Copy(values, valuesOf(key+"."+k.Name()+".", field.Elem()))
			}
		case field.Kind() == reflect.Pointer:
			values[key] = !field.IsNil()
			if !field.IsNil() {
				maps.Copy(values, valuesOf(key+".", field.Elem()))
			}
		case field.Kind() == reflect.Struct:
			maps.Copy(values, valuesOf(key+".", field))
		default:
			values[key] = field.Interface()
		}
	}
	return values
}

// settled is a design with a setting that has no row.
type settled struct {
	stream.HighwayConfig
	Setting int `yaml:"new_setting"`
}

func (settled) Name() string { return "settled" }

// TestANewSettingWantsARow: keysOf finds the settings of a new design in every section, and each
// setting of the config itself.
func TestANewSettingWantsARow(t *testing.T) {
	known := keysOf("", reflect.TypeFor[subject](), models.Standard(), false)
	more := keysOf("", reflect.TypeFor[subject](), models.Standard().With(settled{}), false)
	var found []string
	seen := map[string]bool{}
	for _, key := range known {
		assert.False(t, seen[key], "%s twice", key)
		seen[key] = true
	}
	for _, key := range more {
		if !seen[key] {
			found = append(found, key)
		}
	}
	assert.Equal(t, []string{"stream.settled.d_model", "stream.settled.new_setting"}, found)
	for _, key := range []string{"layers", "stream", "stream.matrix.dk", "stream.mhc.sinkhorn_iterations", "attention.heads", "feedforward.moe.top_k", "bos",
		"mup", "mup.base.stream.vector.d_model", "mup.base.attention.heads", "mup.base.feedforward.gelu.hidden", "ZLoss"} {
		assert.True(t, seen[key], key)
	}
}
