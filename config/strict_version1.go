package config

import (
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// noSection is the error of a node that is no map where a section of a kind is wanted. The name
// of a kind alone is how sections were written before they were sections, with their keys around it.
func (d *decoder) noSection(n ast.Node, line int, key string, t reflect.Type) error {
	s, _ := scalarOf(n)
	prototype, known := d.kinds.find(t, s.text)
	if !known {
		return d.mismatch(n, line, key, t)
	}
	parts := []string{kindKey + ": " + stringText(s.text)}
	prefix := strings.TrimSuffix(key, leafOf(key))
	for _, entry := range d.around {
		name, _ := nameOf(entry.Key)
		inner, moved := strings.CutPrefix(d.nowCalled(prefix+name), key+".")
		value, isScalar := scalarOf(entry.Value)
		if _, has := d.schema.find(prototype.Type(), inner); moved && has && isScalar && !value.isZero() {
			parts = append(parts, inner+": "+value.text)
		}
	}
	return d.errorAt(lineOf(n, line), key, "want a section since version 2: write %s: {%s}", leafOf(key), strings.Join(parts, ", "))
}

// isZero tells whether a scalar is what a key holds that is not set.
func (s scalar) isZero() bool {
	switch s.form() {
	case formNothing, formNull:
		return true
	case formText:
		return s.text == ""
	}
	return s.text == "0" || s.text == "false"
}

// nowCalled is the key that has taken the place of one of an earlier version, "" if none has.
func (d *decoder) nowCalled(key string) string {
	if d.renamed == nil {
		return ""
	}
	return d.renamed(key)
}
