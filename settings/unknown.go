package settings

import (
	"reflect"
	"slices"
	"strings"

	"github.com/residua-go/residua/internal/spelling"
)

// unknown is the error of a name that is no field of the structs that share the section
// at key, the last of which is that of its kind, if it has one. It points to what the key is called now, to the kinds of the section that have it, to a
// near name in the same section, to the same name in another one, to a near name in
// another one, or else lists what is known here.
func (d *decoder) unknown(line int, structs []reflect.Value, key, name string) error {
	full := joined(key, shortened(name, 60))
	refuse := func(format string, args ...any) error { return d.errorAt(line, full, "unknown key"+format, args...) }
	if now := d.nowCalled(full); now != "" {
		return refuse(": it is %s now", now)
	}
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

// guessesFor lists what may have been meant by a name in the section at key, best
// first: names of that section are here, dotted keys of the whole config in all.
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

// leafOf is the last name of a dotted key.
func leafOf(path string) string {
	return path[strings.LastIndex(path, ".")+1:]
}

// placed shows a dotted key in a guess, so that one of the top level does not
// look like a name of the section at hand.
func placed(path string) string {
	if strings.Contains(path, ".") {
		return path
	}
	return path + " at the top level"
}
