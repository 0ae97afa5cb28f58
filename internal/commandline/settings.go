package commandline

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
)

// run runs a command with its Settings, and restores their defaults afterwards.
func (c Command) run(ctx context.Context, args []string, out Output) error {
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
	var unknown *settings.UnknownFlagError
	if errors.As(err, &unknown) && c.Unknown != nil {
		if here := c.Unknown(unknown.Name); here != "" {
			return Usagef("unknown flag -%s: %s", unknown.Name, here)
		}
	}
	if err != nil {
		return Usagef("%v (%s -h lists all flags)", err, c.Name)
	}
	if help {
		return c.help(flags, out)
	}
	for _, s := range c.structs() {
		held := reflect.ValueOf(s).Elem()
		for _, field := range held.Fields() {
			if field.Type() == reflect.TypeFor[settings.Given]() {
				field.Set(reflect.ValueOf(flags.Given()))
			}
		}
	}
	return c.Run(ctx, out)
}

// structs returns the structs that the Settings point to.
func (c Command) structs() Several {
	switch s := c.Settings.(type) {
	case nil:
		return nil
	case Several:
		return s
	}
	return Several{c.Settings}
}

// settingsFlags returns the flags of all Settings, in order.
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

// OfFlag turns an error that begins with the name of one of the command's flags into an error of
// the call about that flag. It returns other errors unchanged.
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
