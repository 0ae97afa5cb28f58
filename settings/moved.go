package settings

import (
	"reflect"
	"slices"
	"strings"
)

// noSection returns the error for a node that is no map where a section with a kind is
// expected. If the node is only the name of a kind, the error says how to write the section:
// in configs of version 1 the kind was a plain value, and its keys stood next to it.
func (d *decoder) noSection(at spot, t reflect.Type) error {
	s, _ := scalarOf(at.node)
	prototype, known := d.Kinds.find(t, s.text)
	if !known {
		return d.mismatch(at, t)
	}
	own := leafOf(at.key)
	prefix := strings.TrimSuffix(at.key, own)
	order, sections, keys := []string{own}, map[string][]string{own: {KindKey + ": " + stringText(s.text)}}, map[string][]string{}
	for _, entry := range d.around {
		name, _ := nameOf(entry.Key)
		section, inner, moved := strings.Cut(strings.TrimPrefix(d.nowCalled(prefix+name), prefix), ".")
		value, isScalar := scalarOf(entry.Value)
		if _, has := d.schema.find(prototype.Type(), inner); !moved || !isScalar || value.isZero() || inner == KindKey || section == own && !has {
			continue
		}
		if sections[section] == nil {
			order = append(order, section)
		}
		sections[section], keys[section] = append(sections[section], inner+": "+value.text), append(keys[section], inner)
	}
	var write []string
	for _, section := range order {
		if kind := d.kindWith(t, keys[section]); kind != "" && section != own {
			sections[section] = slices.Insert(sections[section], 0, KindKey+": "+kind)
		}
		write = append(write, section+": {"+strings.Join(sections[section], ", ")+"}")
	}
	return d.refuse(at, "want a section since version 2: write %s", strings.Join(write, ", "))
}

// kindWith returns the first kind, among sections of another type than t, that has all the keys; ""
// if there is none.
func (d *decoder) kindWith(t reflect.Type, keys []string) string {
	for of, prototypes := range d.Kinds {
		for _, p := range prototypes {
			lacks := func(key string) bool {
				_, has := d.schema.find(reflect.TypeOf(p), key)
				return !has
			}
			if of != t && !slices.ContainsFunc(keys, lacks) {
				return p.Name()
			}
		}
	}
	return ""
}

// isZero tells whether a scalar is the zero value of its key, which means not set.
func (s scalar) isZero() bool {
	switch s.form() {
	case formNothing, formNull:
		return true
	case formText:
		return s.text == ""
	}
	return s.text == "0" || s.text == "false"
}

// nowCalled returns the new name of a key of an earlier version, "" if it has none.
func (d *decoder) nowCalled(key string) string {
	if d.Renamed == nil {
		return ""
	}
	return d.Renamed(key)
}
