// Package settings reads what a user chooses into any structs with tagged fields, such as those of
// runconfig: from a YAML file, from assignments such as train.steps=200, and from the flags of a
// command, with the same bounds, suggestions and errors.
//
// The tags of a field:
//
//	yaml     its key; a flag has the same name, with - for _
//	help     its meaning; in a flag's help a word in angle brackets, as <FILE>, names the value; a
//	         long one is returned by the struct's method Help (Helper)
//	default  its default, for a key whose default is not the value that the struct holds before it
//	         is read; SetDefaults stores it
//	from     the keys from which this default follows: names of keys, of sections for all of their
//	         keys, or .NAME for keys of the same section
//	min, max the least and the greatest value
//	choices  the values that a string may have, separated by commas
//	kind     another section, whose kind this section has, too; its values start at zero
//	word     for a section with a kind: the kind's name may stand for the section, as in
//	         source: files, and is written so if the kind has no keys
//	arg      for an argument of a command without a dash: its name in the help, as in RUN...
//	split    the separator of several values given by one flag of a list, such as a comma; without
//	         it a flag gives one value
//	bare     the value of a flag that stands alone; with it a value is written -flag=value
//	local    "true" for a key that names files; DecodeJSON refuses it, because JSON may come from
//	         another machine
//	group    the heading under which help lists the flag
package settings

import (
	"reflect"

	"github.com/pkg/errors"
)

// Reader holds what reading needs to know beyond the types of the fields. The zero value is ready
// to use.
type Reader struct {
	Kinds Kinds // the structs that sections with a kind may hold
	Peek  bool  // ignore keys that the struct does not have

	schema schema // known from an earlier reading; may be empty
}

// Read stores a file's text, then assignments, in the struct that v points to. Fields are matched
// by their `yaml:"name"` tags; a field without a tag is no setting,
// and an embedded struct lends its fields to the struct around it.
// Keys that the text does not name keep the value they had: v holds the defaults.
//
// Fields may be strings, bools, ints, uints, floats, structs, pointers to those
// (nil: not given, written null), lists ([]T) and maps (map[string]T). A section
// is merged into the struct it stands for; a list or a map replaces the old one.
//
// A field of an interface type holds one of several structs, chosen by the section's key
// kind, or else the one that it holds. Another kind replaces all of the old values.
// With the tag word a name alone is the section of the kind of that name.
//
// The text must be one YAML document whose keys are all known and given once.
// Numbers are never rounded, cut or made from strings: 1.5, 1e3 and 2000.0 are
// not integers, .nan and .inf are not numbers, 010 is refused because YAML 1.1
// and 1.2 read it differently. Anchors, aliases, tags, merge keys (<<) and
// directives are refused.
//
// An assignment is a dotted path, then a value in YAML, lists as [a,b], sections and
// maps as {a: 1}; what the path leads through is merged.
//
// file is used in messages only. The first problem in the text is returned as an *Error of one
// line, `configs/x.yaml:12: train.steps: want an integer, got "many"`, or `-set: train.setps:
// unknown key; did you mean "steps"?`, and the text or assignment that has it changes nothing.
func (r Reader) Read(v any, file string, text []byte, sets []string) (*Positions, error) {
	d, target, err := r.decoder(v)
	if err != nil {
		return nil, err
	}
	positions := &Positions{file: file, Reader: r, at: d.at}
	positions.schema = d.schema
	d.where = positions.line
	if err := d.file(string(text)); err != nil {
		return nil, err
	}
	target.Set(d.root)
	for _, s := range sets {
		if err := positions.set(v, s); err != nil {
			return nil, err
		}
	}
	return positions, nil
}

// file stores the text of a file in the decoder's struct.
func (d *decoder) file(text string) error {
	node, err := d.parse(text, "")
	if err != nil {
		return err
	}
	if node == nil {
		return d.errorAt(0, "", "empty; want %s", d.wants(d.root.Type()))
	}
	return d.all(node)
}

// decoder returns a decoder that writes to a copy of the struct that v points to.
func (r Reader) decoder(v any) (*decoder, reflect.Value, error) {
	target, err := structOf(v)
	if err != nil {
		return nil, target, err
	}
	s := r.schema
	if _, known := s.fields[target.Type()]; !known {
		s, err = schemaOf(target, r.Kinds)
	}
	return &decoder{schema: s, root: structCopy(target), Reader: r, at: map[string]string{}}, target, err
}

// structOf returns the struct that v points to.
func structOf(v any) (reflect.Value, error) {
	pointer := reflect.ValueOf(v)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, errors.Errorf("settings: want a pointer to a struct, got %T", v)
	}
	return pointer.Elem(), nil
}
