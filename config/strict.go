package config

import (
	"reflect"
	"strings"

	"github.com/pkg/errors"
)

// Decode reads YAML text into the struct that v points to. Fields are matched
// by their `yaml:"name"` tags; a field without a tag is not part of the config,
// and a struct tagged `yaml:",inline"` lends its fields to the struct around it.
// Keys that the text does not name keep the value they had: v holds the defaults.
//
// Fields may be strings, bools, ints, uints, floats, structs, pointers to those
// (nil: not given, written null), lists ([]T) and maps (map[string]T). A section
// is merged into the struct it stands for; a list or a map replaces the old one.
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
func Decode(file string, text []byte, v any) (*Positions, error) {
	target, schema, err := targetOf(v)
	if err != nil {
		return nil, err
	}
	positions := &Positions{file: file}
	d := &decoder{schema: schema, root: target.Type(), where: positions.line}
	node, err := d.parse(string(text), "")
	if err != nil {
		return nil, err
	}
	if node == nil {
		return nil, d.errorAt(0, "", "empty; want %s", d.wants(target.Type()))
	}
	result := reflect.New(target.Type()).Elem()
	result.Set(target)
	if err := d.value(node, lineOf(node, 0), "", result); err != nil {
		return nil, err
	}
	target.Set(result)
	positions.apply(d.records)
	return positions, nil
}

// Set applies one assignment such as "train.steps=200" to the struct that v
// points to: a dotted path, then a value in YAML, lists as [a,b], sections and
// maps as {a: 1}. The rules are Decode's. Errors are *Error values of one line
// that name -set, as `-set: train.setps: unknown key; did you mean "steps"?`,
// and leave v as it was.
func Set(v any, assignment string) error {
	return (*Positions)(nil).Set(v, assignment)
}

// Set is the function Set; p then tells "-set" for the keys that it changed.
func (p *Positions) Set(v any, assignment string) error {
	target, schema, err := targetOf(v)
	if err != nil {
		return err
	}
	key, text, found := strings.Cut(assignment, "=")
	key = strings.TrimSpace(key)
	if !found || key == "" {
		return &Error{Position: setPosition, Problem: "want key=value, as in train.steps=200, got " + quoted(assignment)}
	}
	d := &decoder{schema: schema, root: target.Type(), where: func(int) string { return setPosition }, override: true}
	if err := d.checkCharacters(key, ""); err != nil {
		return err
	}
	result := reflect.New(target.Type()).Elem()
	result.Set(target)
	if err := d.assign(result, strings.Split(key, "."), "", text); err != nil {
		return err
	}
	target.Set(result)
	p.apply(d.records)
	return nil
}

// targetOf returns the struct that v points to and the schema of its type.
func targetOf(v any) (reflect.Value, schema, error) {
	pointer := reflect.ValueOf(v)
	if pointer.Kind() != reflect.Pointer || pointer.IsNil() || pointer.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, nil, errors.Errorf("config: want a pointer to a struct, got %T", v)
	}
	s, err := schemaOf(pointer.Elem().Type())
	return pointer.Elem(), s, err
}
