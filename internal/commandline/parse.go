package commandline

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
)

// readArguments sets the flags of a call. A flag is written -name value or -name=value, with one or
// two dashes; a bool needs no value. help tells that -h was given. All other arguments, wherever
// they stand, go to the operand; without an operand they are refused.
func readArguments(flags settings.Flags, args []string) (help bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given, ok := splitFlag(arg)
		switch {
		case !ok && takes(flags, arg):
			f, _ := flags.Operand()
			err = f.SetAlone(arg)
		case !ok:
			err = errors.Errorf("want %s, got %q; put quotes around a value with spaces", wantedArguments(flags), arg)
		case name == "h" || name == "help":
			return true, nil
		default:
			args, err = setFlag(flags, name, value, given, args)
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

// setFlag sets a flag to value or, if none was given, to the next argument. It returns the
// remaining arguments.
func setFlag(flags settings.Flags, name, value string, given bool, args []string) ([]string, error) {
	f, err := flags.Lookup(name)
	switch {
	case err != nil:
		return nil, err
	case given:
	case f.Bare() != "":
		value = f.Bare()
	case len(args) == 0:
		return nil, errors.Errorf("-%s: want %s after it, got nothing", name, f.Value)
	default:
		value, args = args[0], args[1:]
	}
	return args, f.Set(value)
}

// takes tells whether an argument can be a command's operand.
func takes(flags settings.Flags, arg string) bool {
	f, _ := flags.Operand()
	return f != nil && arg != "" && arg[0] != '-'
}

// wantedArguments describes the arguments that a command takes.
func wantedArguments(flags settings.Flags) string {
	if f, name := flags.Operand(); f != nil {
		return "flags and " + name
	}
	return "flags alone"
}

// splitFlag splits an argument; given tells that it contains a value, ok that it is a flag.
func splitFlag(arg string) (name, value string, given, ok bool) {
	name, ok = strings.CutPrefix(arg, "-")
	name = strings.TrimPrefix(name, "-")
	if !ok || name == "" {
		return "", "", false, false
	}
	name, value, given = strings.Cut(name, "=")
	return name, value, given, true
}
