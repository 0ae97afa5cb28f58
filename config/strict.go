package config

import (
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// dialect is what decoding knows in addition to the types of the fields.
type dialect struct {
	kinds   Kinds
	renamed func(key string) string // what a key of an earlier version is called now, "" if it has not moved; may be nil
	peeking bool                    // keys that are not known are passed over
	schema  schema                  // of what was decoded before; may be empty
}

// decode reads YAML text into the struct that v points to. Fields are matched
// by their `yaml:"name"` tags; a field without a tag is not part of the config,
// and an embedded struct lends its fields to the struct around it.
// Keys that the text does not name keep the value they had: v holds the defaults.
//
// Fields may be strings, bools, ints, uints, floats, structs, pointers to those
// (nil: not given, written null), lists ([]T) and maps (map[string]T). A section
// is merged into the struct it stands for; a list or a map replaces the old one.
//
// A field of an interface type holds one of several structs, chosen by the section's key
// kind, or else the one that it holds. Another kind replaces all of the old values.
//
// The text must be one YAML document whose keys are all known and given once.
// Numbers are never rounded, cut or made from strings: 1.5, 1e3 and 2000.0 are
// not integers, .nan and .inf are not numbers, 010 is refused because YAML 1.1
// and 1.2 read it differently. Anchors, aliases, tags, merge keys (<<) and
// directives are refused.
//
// file is used in messages only. The first problem in the text is returned as an
// *Error of one line, `configs/x.yaml:12: train.steps: want an integer, got
// "many"`, and v is then as it was before the call.
func decode(about dialect, file string, text []byte, v any) (*Positions, error) {
	d, target, err := about.decoder(v)
	if err != nil {
		return nil, err
	}
	positions := &Positions{file: file, dialect: about}
	positions.dialect.schema = d.schema
	d.where = positions.line
	if err := d.file(string(text)); err != nil {
		return nil, err
	}
	target.Set(d.root)
	positions.apply(d.records)
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
	if err := d.value(node, lineOf(node, 0), "", d.root); err != nil {
		return err
	}
	return d.finish()
}

// finish reads the sections that were put off.
func (d *decoder) finish() error {
	for _, section := range d.later {
		if err := section(); err != nil {
			return err
		}
	}
	return nil
}

// Decode reads the YAML text of something else than a run into the struct that v points to, as strictly, and checks the
// bounds that the tags of its fields name; tags are those of Run. A field of an interface type holds one of the kinds of that type.
func Decode(k Kinds, file string, text []byte, v any) (*Positions, error) {
	where, err := decode(dialect{kinds: k}, file, text, v)
	if err != nil {
		return nil, err
	}
	return where, checkBounds(reflect.ValueOf(v).Elem(), where)
}

// set applies one assignment such as "train.steps=200" to the struct that v
// points to: a dotted path, then a value in YAML, lists as [a,b], sections and
// maps as {a: 1}. The rules are decode's. Errors are *Error values of one line
// that name -set, as `-set: train.setps: unknown key; did you mean "steps"?`,
// and leave v as it was. p then tells "-set" for the keys that it changed.
func (p *Positions) set(v any, assignment string) error {
	d, target, err := p.dialect.decoder(v)
	if err != nil {
		return err
	}
	key, text, found := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
		return &Error{Position: setPosition, Problem: "want key=value, as in train.steps=200, got " + quoted(assignment)}
	}
	d.where, d.before = func(int) string { return setPosition }, p
	if err := d.checkCharacters(key, ""); err != nil {
		return err
	}
	if err := d.assign(d.root, strings.Split(key, "."), "", text); err != nil {
		return err
	}
	if err := d.finish(); err != nil {
		return err
	}
	target.Set(d.root)
	p.apply(d.records)
	return nil
}

// decoder returns one that writes to a copy of the struct that v points to.
func (about dialect) decoder(v any) (*decoder, reflect.Value, error) {
	pointer := reflect.ValueOf(v)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return nil, reflect.Value{}, errors.Errorf("config: want a pointer to a struct, got %T", v)
	}
	target := pointer.Elem()
	s, err := about.schema, error(nil)
	if _, known := s.fields[target.Type()]; !known {
		s, err = schemaOf(target.Type(), about.kinds)
	}
	return &decoder{schema: s, root: structCopy(target), dialect: about}, target, err
}
