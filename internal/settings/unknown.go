package settings

import (
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/spelling"
)

// unknown returns the error for a name that is not a field of structs, which share the section
// at key; if the section has a kind, the kind's struct comes last. The error suggests, in this
// order: the kinds of the section that have the key; a similar name in
// the same section; the same name in another section, or a similar one. Otherwise it lists the
// known names.
func (d *decoder) unknown(line int, structs []reflect.Value, key, name string) error {
	full := joined(key, shortened(name, 60))
	refuse := func(format string, args ...any) error { return d.errorAt(line, full, "unknown key"+format, args...) }
	var here []string
	var t reflect.Type
	for _, v := range structs {
		t = v.Type()
		here = append(here, slices.DeleteFunc(d.schema.names(t), func(name string) bool { return name == KindKey })...)
	}
	if before, _, indexed := strings.Cut(name, "["); d.isSet() && indexed && slices.Contains(here, before) {
		list := joined(key, before)
		return d.errorAt(line, list, "the entries of a list cannot be set alone; set it whole, as %s=[a,b]", list)
	}
	if siblings := d.Kinds.siblings(t); siblings != nil {
		if owners := d.schema.owners(siblings, name); len(owners) > 0 {
			return refuse(" of kind %s: it belongs to %s", kindOf(reflect.Zero(t)), strings.Join(owners, ", "))
		}
		if name == KindKey {
			return refuse(": the section has the kind of another one; remove it")
		}
		here = append([]string{KindKey}, here...)
	}
	all := d.schema.paths(d.root.Type())
	if guesses := guessesFor(name, key, here, all); len(guesses) > 0 {
		return refuse("; did you mean %s?", strings.Join(guesses, " or "))
	}
	if len(here) == 0 {
		return refuse("; this section holds none")
	}
	return refuse("; known here: %s", strings.Join(here, ", "))
}

// guessesFor lists what a name in the section at key may have meant, best first. here has the names
// of that section, all the dotted keys of the whole config.
func guessesFor(name, key string, here, all []string) []string {
	path := name
	if key != "" {
		path = key + "." + name
	}
	if i := strings.LastIndex(name, "."); i >= 0 && slices.Contains(all, path) {
		return []string{quoted(name[i+1:]) + " indented below " + quoted(name[:i])}
	}
	var guesses []string
	if near := spelling.Nearest(name, here); near != "" {
		guesses = append(guesses, quoted(near))
	}
	leaves := make([]string, len(all))
	for i, path := range all {
		leaves[i] = leafOf(path)
		if leaves[i] == name && len(guesses) < 3 {
			guesses = append(guesses, placed(path))
		}
	}
	if len(guesses) > 0 {
		return guesses
	}
	if near := spelling.Nearest(name, leaves); near != "" {
		return []string{placed(all[slices.Index(leaves, near)])}
	}
	return nil
}

// leafOf returns the last name of a dotted key.
func leafOf(path string) string {
	return path[strings.LastIndex(path, ".")+1:]
}

// placed formats a dotted key for a guess, so that a key of the top level does not look like one of
// the present section.
func placed(path string) string {
	if strings.Contains(path, ".") {
		return path
	}
	return path + " at the top level"
}
