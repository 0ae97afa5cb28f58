package chat

import (
	"reflect"
	"strings"
	"unicode"

	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// stringMethods returns the methods of strings as Python has them. Those that are written here
// replace gonja's, which fail without their optional arguments. The results of all other methods
// are converted to Go's own strings and lists, since values of gonja's types equal no value of
// another type.
func stringMethods() *exec.MethodSet[string] {
	all := map[string]exec.Method[string]{
		"strip":   stripped(strings.TrimFunc),
		"lstrip":  stripped(strings.TrimLeftFunc),
		"rstrip":  stripped(strings.TrimRightFunc),
		"split":   splitMethod(false),
		"rsplit":  splitMethod(true),
		"replace": replaceMethod,
	}
	for _, name := range strings.Fields(`capitalize casefold center count endswith expandtabs find format isalnum isalpha isascii isdecimal isdigit islower
		isnumeric isprintable isspace istitle isupper join ljust lower partition removeprefix removesuffix rfind rjust rpartition splitlines startswith
		swapcase title upper zfill`) {
		if method, ok := builtins.Methods.Str.Get(name); ok {
			all[name] = func(self string, value *exec.Value, args *exec.VarArgs) (any, error) {
				result, err := method(self, value, args)
				return plain(reflect.ValueOf(result)), err
			}
		}
	}
	return exec.NewMethodSet(all)
}

// plain returns a value with strings and lists of strings as Go's own types.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Invalid:
		return nil
	case reflect.String:
		return v.String()
	case reflect.Slice, reflect.Array:
		return list(v.Len(), func(i int) any { return plain(v.Index(i)) })
	}
	return v.Interface()
}

func list(n int, at func(i int) any) []any {
	all := make([]any, n)
	for i := range all {
		all[i] = at(i)
	}
	return all
}

// stripped makes the method strip, lstrip or rstrip of a string from the function that trims it.
// Without an argument the method removes white space.
func stripped(trim func(string, func(rune) bool) string) exec.Method[string] {
	return func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		var characters string
		if err := args.Take(exec.PositionalArgument("chars", exec.AsValue(""), exec.StringArgument(&characters))); err != nil {
			return nil, exec.ErrInvalidCall(err)
		}
		if len(args.Args) == 0 {
			return trim(self, unicode.IsSpace), nil
		}
		return trim(self, func(r rune) bool { return strings.ContainsRune(characters, r) }), nil
	}
}

// splitMethod is split or, from the right, rsplit: without a separator they split at white space.
func splitMethod(right bool) exec.Method[string] {
	return func(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
		var separator string
		var most int
		if err := args.Take(exec.PositionalArgument("sep", exec.AsValue(""), exec.StringArgument(&separator)),
			exec.PositionalArgument("maxsplit", exec.AsValue(-1), exec.IntArgument(&most))); err != nil {
			return nil, exec.ErrInvalidCall(err)
		}
		parts := strings.Fields(self)
		if separator != "" {
			parts = strings.Split(self, separator)
		}
		if extra := len(parts) - 1 - most; most >= 0 && extra > 0 && separator != "" {
			if right {
				parts = append([]string{strings.Join(parts[:extra+1], separator)}, parts[extra+1:]...)
			} else {
				parts = append(parts[:most:most], strings.Join(parts[most:], separator))
			}
		}
		return list(len(parts), func(i int) any { return parts[i] }), nil
	}
}

func replaceMethod(self string, _ *exec.Value, args *exec.VarArgs) (any, error) {
	var from, to string
	var count int
	if err := args.Take(exec.PositionalArgument("old", nil, exec.StringArgument(&from)), exec.PositionalArgument("new", nil, exec.StringArgument(&to)),
		exec.PositionalArgument("count", exec.AsValue(-1), exec.IntArgument(&count))); err != nil {
		return nil, exec.ErrInvalidCall(err)
	}
	return strings.Replace(self, from, to, count), nil
}
