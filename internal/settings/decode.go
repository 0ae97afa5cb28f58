package settings

import (
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// decoder stores YAML trees in values. It writes only to new memory: lists, maps and pointees that
// the target held before stay unchanged.
type decoder struct {
	Reader
	schema schema
	root   reflect.Value         // the struct to store in
	where  func(line int) string // returns the position of a line; line 0 is the whole text
	before *Positions            // for an assignment: the keys given before it; nil for a file
	path   string                // for an assignment: its key
	at     map[string]string     // the position of each key, as in Positions
	later  []func() error        // work left for the end: sections that take the kind of another section
}

// isSet tells whether the text is the value of an assignment instead of a file.
func (d *decoder) isSet() bool { return d.before != nil }

// errorAt returns the error of a key at a line.
func (d *decoder) errorAt(line int, key, format string, args ...any) error {
	return &Error{Position: d.where(line), Key: key, Problem: fmt.Sprintf(format, args...)}
}

// given records that a key was given at a line. replaced tells whether its old value is
// discarded, together with the positions of everything in it.
func (d *decoder) given(line int, key string, replaced bool) {
	if replaced {
		d.forget(key)
	}
	d.at[key] = d.where(line)
}

// forget removes the positions of a key and of everything below it.
func (d *decoder) forget(key string) {
	maps.DeleteFunc(d.at, func(inner, _ string) bool {
		return inner == key || strings.HasPrefix(inner, key+".") || strings.HasPrefix(inner, key+"[")
	})
}

// spot is a node, the key whose value it is, and that key's line.
type spot struct {
	node ast.Node
	line int
	key  string
}

// refuse returns an error for the value at a spot.
func (d *decoder) refuse(at spot, format string, args ...any) error {
	return d.errorAt(lineOf(at.node, at.line), at.key, format, args...)
}

// all stores a whole tree.
func (d *decoder) all(n ast.Node) error {
	if err := d.value(spot{node: n}, d.root); err != nil {
		return err
	}
	for _, section := range d.later {
		if err := section(); err != nil {
			return err
		}
	}
	return nil
}

// value stores a node in v.
func (d *decoder) value(at spot, v reflect.Value) error {
	s, isScalar := scalarOf(at.node)
	switch k := v.Kind(); {
	case isText(v.Type()) && (!isScalar || s.form() != formText):
		return d.refuse(at, "want a string, got %s", s)
	case isText(v.Type()):
		if problem := setText(v, s.text); problem != "" {
			return d.refuse(at, "%s", problem)
		}
		return nil
	case canBeNil(k) && isScalar && s.form() == formNull:
		v.SetZero()
		return nil
	case (k == reflect.Struct || k == reflect.Interface) && isScalar && s.form() == formNothing && !d.isSet():
		return nil // a section without entries, for example if all are commented out
	case k == reflect.Pointer:
		return d.pointer(at, v)
	case k == reflect.Struct:
		return d.section(at, v)
	case k == reflect.Slice:
		return d.list(at, v)
	case k == reflect.Map:
		return d.mapping(at, v)
	case k == reflect.Interface:
		return d.kindSection(at, v)
	case !isScalar:
		return d.mismatch(at, v.Type())
	}
	if problem := s.into(v); problem != "" {
		return d.refuse(at, "%s", problem)
	}
	return nil
}

// canBeNil tells whether values of a kind may be nil, written as null.
func canBeNil(k reflect.Kind) bool {
	return k == reflect.Pointer || k == reflect.Slice || k == reflect.Map || k == reflect.Interface
}

// pointer stores a new value that starts as a copy of the pointer's old one.
func (d *decoder) pointer(at spot, v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Struct && isForm(at.node, formNothing) {
		return d.mismatch(at, v.Type().Elem())
	}
	fresh := pointeeCopy(v)
	if err := d.value(at, fresh.Elem()); err != nil {
		return err
	}
	v.Set(fresh)
	return nil
}

// pointeeCopy returns a new pointer to a copy of what v points to, or to a zero value.
func pointeeCopy(v reflect.Value) reflect.Value {
	fresh := reflect.New(v.Type().Elem())
	if !v.IsNil() {
		fresh.Elem().Set(v.Elem())
	}
	return fresh
}

// section stores the entries of a map in the fields of a struct.
func (d *decoder) section(at spot, v reflect.Value) error {
	if own, ok := d.schema.ownKind(v.Type()); ok {
		return d.sharedSection(at, v, own)
	}
	entries, ok := entriesOf(at.node)
	if !ok {
		return d.mismatch(at, v.Type())
	}
	return d.fields(entries, at.key, "", v)
}

// fields stores the entries of a map, which is the value of key, in the fields of the structs that
// share the section. It leaves out the entry called skip.
func (d *decoder) fields(entries []*ast.MappingValueNode, key, skip string, into ...reflect.Value) error {
	return d.each(entries, key, func(name string, at spot) error {
		if name == skip && skip != "" {
			d.given(at.line, at.key, true)
			return nil
		}
		f, v := d.target(into, name)
		switch {
		case !v.IsValid() && d.Peek:
			return nil
		case !v.IsValid():
			return d.unknown(at.line, into, key, name)
		}
		if !d.leadsThrough(at.key) {
			d.given(at.line, at.key, replaces(f.Type, at.node))
		}
		switch {
		case f.isWord() && isForm(at.node, formText):
			at.node = below([]string{KindKey}, at.node)
		case f.isWord() && isForm(at.node, formNull):
			return d.mismatch(at, f.Type)
		}
		to := v.FieldByIndex(f.Index)
		if other := f.sameKind(); other != "" {
			d.later = append(d.later, func() error { return d.alike(at, to, other) })
			return nil
		}
		return d.value(at, to)
	})
}

// target returns the field of that name and the struct that has it, or nothing if no struct has it.
func (d *decoder) target(structs []reflect.Value, name string) (field, reflect.Value) {
	for _, v := range structs {
		if f, known := d.schema.find(v.Type(), name); known {
			return f, v
		}
	}
	return field{}, reflect.Value{}
}

// replaces tells whether storing a node in a field of type t discards the old value: sections are
// merged, everything else is replaced.
func replaces(t reflect.Type, n ast.Node) bool {
	k := pointee(t).Kind()
	return k != reflect.Struct && k != reflect.Interface || isForm(n, formNull)
}

// each calls do for the entries of a map in order, with the name of each. It refuses names that are
// given twice.
func (d *decoder) each(entries []*ast.MappingValueNode, key string, do func(name string, at spot) error) error {
	lines := map[string]int{}
	for _, entry := range entries {
		line := lineOf(entry.Key, 0)
		name, problem := nameOf(entry.Key)
		if problem != "" {
			return d.errorAt(line, key, "%s", problem)
		}
		full := joined(key, name)
		if first, twice := lines[name]; twice && d.isSet() {
			return d.errorAt(line, full, "given twice")
		} else if twice {
			return d.errorAt(line, full, "given twice, first on line %d", first)
		}
		lines[name] = line
		if err := do(name, spot{entry.Value, line, full}); err != nil {
			return err
		}
	}
	return nil
}

// list stores a sequence in a new slice.
func (d *decoder) list(at spot, v reflect.Value) error {
	sequence, ok := at.node.(*ast.SequenceNode)
	if !ok {
		return d.mismatch(at, v.Type())
	}
	fresh := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, n := range sequence.Values {
		item := spot{n, lineOf(n, at.line), at.key + "[" + strconv.Itoa(i) + "]"}
		d.given(item.line, item.key, true)
		if err := d.value(item, fresh.Index(i)); err != nil {
			return err
		}
	}
	v.Set(fresh)
	return nil
}

// mapping stores the entries of a map in a new Go map. An assignment to a key below it keeps the
// other entries.
func (d *decoder) mapping(at spot, v reflect.Value) error {
	entries, ok := entriesOf(at.node)
	if !ok {
		return d.mismatch(at, v.Type())
	}
	fresh := reflect.MakeMap(v.Type())
	if d.leadsThrough(at.key) {
		for _, name := range v.MapKeys() {
			fresh.SetMapIndex(name, v.MapIndex(name))
		}
	}
	err := d.each(entries, at.key, func(name string, at spot) error {
		item, slot := reflect.New(v.Type().Elem()).Elem(), reflect.ValueOf(name).Convert(v.Type().Key())
		if !d.leadsThrough(at.key) {
			d.given(at.line, at.key, true)
		} else if old := fresh.MapIndex(slot); old.IsValid() {
			item.Set(old)
		}
		if err := d.value(at, item); err != nil {
			return err
		}
		fresh.SetMapIndex(slot, item)
		return nil
	})
	if err == nil {
		v.Set(fresh)
	}
	return err
}

// entriesOf returns the entries of a node if it is a map.
func entriesOf(n ast.Node) ([]*ast.MappingValueNode, bool) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		return nil, false
	}
	return m.Values, true
}

// nameOf returns the text of a map's key, or a problem.
func nameOf(n ast.Node) (name, problem string) {
	s, ok := scalarOf(n)
	if !ok {
		return "", "want a name before the colon"
	}
	if form := s.form(); form != formText {
		return "", "want a name before the colon, got " + s.String() + "; write " + quoted(s.text) + " with the quotes"
	}
	return s.text, ""
}

// isForm tells whether a node is a scalar of the given form.
func isForm(n ast.Node, f form) bool {
	s, ok := scalarOf(n)
	return ok && s.form() == f
}

// joined appends a name to a dotted key. It quotes a name that is not a plain word, so that the key
// stays on one line.
func joined(key, name string) string {
	odd := func(r rune) bool { return r <= ' ' || strings.ContainsRune(`".[`, r) || !strconv.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, odd) {
		name = strconv.Quote(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}
