package models

import (
	"reflect"
	"sort"
)

// Preset is a named model with the parameter count that its source prints.
type Preset struct {
	Name   string
	Config Config
	// Paper is the number of parameters in millions that the RMT paper prints, 0 where
	// it prints none. PaperNote says where and why the exact count differs.
	Paper     float64
	PaperNote string
}

// FindPreset returns the preset of that name, and all names if there is none.
func FindPreset(name string) (Preset, []string, bool) {
	var names []string
	for _, p := range Presets() {
		if p.Name == name {
			return p, nil, true
		}
		names = append(names, p.Name)
	}
	sort.Strings(names)
	return Preset{}, names, false
}

// overPreset returns the preset that c names, overridden by c's fields that are not
// zero; c itself where it names a stream (its fields are then filled in already), no
// preset, or one that does not exist.
func (c Config) overPreset() Config {
	if c.Preset == "" || c.Stream != "" {
		return c
	}
	preset, _, ok := FindPreset(c.Preset)
	if !ok {
		return c
	}
	merged, own := reflect.ValueOf(&preset.Config).Elem(), reflect.ValueOf(c)
	for i := range own.NumField() {
		if !own.Field(i).IsZero() {
			merged.Field(i).Set(own.Field(i))
		}
	}
	return preset.Config
}
