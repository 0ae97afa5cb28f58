package config

import (
	"reflect"
	"strings"
)

// assign walks the segments of a dotted path down from v, whose own key is done,
// and stores the YAML value in text where they end. As in decoding, pointees and
// maps on the way are copied.
func (d *decoder) assign(v reflect.Value, segments []string, done, text string) error {
	if len(segments) == 0 {
		node, err := d.parse(text, done)
		if err != nil {
			return err
		}
		d.given(0, done, replaces(v.Type(), node))
		return d.value(node, 0, done, v)
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := pointeeCopy(v)
		if err := d.assign(fresh.Elem(), segments, done, text); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	case reflect.Struct:
		return d.assignField(v, segments, done, text)
	case reflect.Map:
		return d.assignEntry(v, segments, done, text)
	case reflect.Interface:
		return d.assignKind(v, segments, done, text)
	case reflect.Slice:
		return d.errorAt(0, joined(done, segments[0]), "unknown key; %s is %s, set it whole, as %s=[a,b]", done, wantKind(v.Type()), done)
	}
	return d.errorAt(0, joined(done, segments[0]), "unknown key; the value of %s is %s", done, wantKind(v.Type()))
}

// assignField goes on in the field of struct v that the first segment names.
func (d *decoder) assignField(v reflect.Value, segments []string, done, text string) error {
	name := segments[0]
	f, known := d.schema.find(v.Type(), name)
	if known {
		to, key := v.FieldByIndex(f.index), joined(done, name)
		if other := f.sameKind(); other != "" {
			return d.assignAlike(to, segments[1:], key, text, other)
		}
		return d.assign(to, segments[1:], key, text)
	}
	if d.peeking {
		return nil
	}
	before, _, indexed := strings.Cut(name, "[")
	if f, known := d.schema.find(v.Type(), before); known && indexed && f.typ.Kind() == reflect.Slice {
		key := joined(done, before)
		return d.errorAt(0, key, "the entries of a list cannot be set alone; set it whole, as %s=[a,b]", key)
	}
	return d.unknown(0, v.Type(), done, name)
}

// assignEntry goes on in the entry of map v that the first segment names.
func (d *decoder) assignEntry(v reflect.Value, segments []string, done, text string) error {
	fresh := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		fresh.SetMapIndex(key, v.MapIndex(key))
	}
	name := reflect.ValueOf(segments[0]).Convert(v.Type().Key())
	item := reflect.New(v.Type().Elem()).Elem()
	if old := v.MapIndex(name); old.IsValid() {
		item.Set(old)
	}
	if err := d.assign(item, segments[1:], joined(done, segments[0]), text); err != nil {
		return err
	}
	fresh.SetMapIndex(name, item)
	v.Set(fresh)
	return nil
}
