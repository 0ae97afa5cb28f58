package cli

import (
	"flag"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// parse sets the flags of a call. A flag is written -name value, -name=value or with two
// dashes; one of type bool needs no value. help tells that -h is among them. Anything else
// goes to operands, before, between and after the flags, and is refused where there are none.
func parse(flags *flag.FlagSet, operands *Operands, args []string) (help bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given, ok := splitFlag(arg)
		if !ok && operands.take(arg) {
			continue
		}
		if !ok {
			return false, errors.Errorf("want %s, got %q; put quotes around a value with spaces", operands.wanted(), arg)
		}
		f := flags.Lookup(name)
		switch {
		case f == nil && (name == "h" || name == "help"):
			return true, nil
		case f == nil:
			return false, unknownFlag(flags, name)
		case given:
		case isBool(f):
			value = "true"
		case len(args) == 0:
			return false, errors.Errorf("-%s: want %s after it, got nothing", name, wanted(f))
		default:
			value, args = args[0], args[1:]
		}
		if err := flags.Set(name, value); err != nil {
			return false, badValue(f, value, err)
		}
	}
	return false, nil
}

// splitFlag takes an argument apart; given tells that it holds a value, ok that it is a flag.
func splitFlag(arg string) (name, value string, given, ok bool) {
	name, ok = strings.CutPrefix(arg, "-")
	name = strings.TrimPrefix(name, "-")
	if !ok || name == "" {
		return "", "", false, false
	}
	name, value, given = strings.Cut(name, "=")
	return name, value, given, true
}

func unknownFlag(flags *flag.FlagSet, name string) error {
	var known []string
	flags.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
	if near := spelling.Nearest(name, known); near != "" {
		return errors.Errorf("unknown flag -%s; did you mean -%s?", name, near)
	}
	return errors.Errorf("unknown flag -%s", name)
}

func badValue(f *flag.Flag, value string, err error) error {
	var own *usageError
	if errors.As(err, &own) {
		return errors.Errorf("-%s: %v", f.Name, err)
	}
	return errors.Errorf("-%s: want %s, got %q", f.Name, wanted(f), value)
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// wanted says what values a flag takes.
func wanted(f *flag.Flag) string {
	if getter, ok := f.Value.(flag.Getter); ok {
		switch getter.Get().(type) {
		case bool:
			return "true or false"
		case int, int64:
			return "a whole number"
		case uint, uint64:
			return "a whole number >= 0"
		case float64:
			return "a number"
		}
	}
	return "a value"
}

// List is a flag that may be given more than once.
type List []string

// String shows the values.
func (l *List) String() string {
	if l == nil {
		return ""
	}
	return strings.Join(*l, " ")
}

// Set adds a value.
func (l *List) Set(value string) error {
	if value == "" {
		return Usagef("want a value, got an empty one")
	}
	*l = append(*l, value)
	return nil
}
