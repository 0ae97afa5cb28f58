package cli

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/settings"
)

// executeSettings runs a command whose flags are its Settings, which hold the defaults again afterwards.
func (c Command) executeSettings(ctx context.Context, args []string, out Output) error {
	for _, s := range c.structs() {
		held := reflect.ValueOf(s).Elem()
		before := reflect.New(held.Type()).Elem()
		before.Set(held)
		defer held.Set(before)
		if err := settings.SetDefaults(s); err != nil {
			return err
		}
	}
	flags, err := c.settingsFlags()
	if err != nil {
		return err
	}
	help, err := readArguments(flags, args)
	if err == nil && !help {
		err = flags.Check()
	}
	if err != nil {
		return Usagef("%v (%s -h lists all flags)", err, c.Name)
	}
	if help {
		return c.helpOnSettings(flags, out)
	}
	for _, s := range c.structs() {
		held := reflect.ValueOf(s).Elem()
		for i := range held.NumField() {
			if held.Field(i).Type() == reflect.TypeFor[settings.Given]() {
				held.Field(i).Set(reflect.ValueOf(flags.Given()))
			}
		}
	}
	return c.Run(ctx, out)
}

// structs are what the Settings point to.
func (c Command) structs() Several {
	if several, ok := c.Settings.(Several); ok {
		return several
	}
	return Several{c.Settings}
}

// settingsFlags are the flags of all Settings, in their order.
func (c Command) settingsFlags() (settings.Flags, error) {
	var all settings.Flags
	for _, s := range c.structs() {
		flags, err := settings.NewFlags(s)
		if err != nil {
			return nil, err
		}
		all = append(all, flags...)
	}
	return all, nil
}

// OfFlag turns an error that begins with the name of one of the Settings' flags into one of the call's, about that flag. It
// keeps all others.
func (c Command) OfFlag(err error) error {
	if err == nil {
		return nil
	}
	name, _, _ := strings.Cut(err.Error(), ":")
	flags, failed := c.settingsFlags()
	if failed != nil {
		return failed
	}
	if _, unknown := flags.Lookup(name); unknown != nil {
		return err
	}
	return Usage(fmt.Errorf("-%w", err))
}

// readArguments sets the flags of a call. A flag is written -name value, -name=value or with two
// dashes; one of type bool needs no value. help tells that -h is among them. Anything else
// goes to the operand, before, between and after the flags, and is refused where there is none.
func readArguments(flags settings.Flags, args []string) (help bool, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, value, given, ok := splitFlag(arg)
		switch {
		case !ok && takes(flags, arg):
			err = flags.Operand().Set(arg)
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

// setFlag sets a flag to its value, or to the next argument, and returns the arguments left.
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
	return flags.Operand() != nil && arg != "" && arg[0] != '-'
}

// wantedArguments says what arguments a command takes.
func wantedArguments(flags settings.Flags) string {
	if o := flags.Operand(); o != nil {
		return "flags and " + o.Name
	}
	return "flags alone"
}
