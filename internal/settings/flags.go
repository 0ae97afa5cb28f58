package settings

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/spelling"
)

// Flag is a setting as an argument of a command.
type Flag struct {
	Name    string // without its dash
	Value   string // name of the value in help, such as N; "" for a bool
	Help    string // its meaning, with its default in brackets
	Group   string // heading under which help lists it
	Operand bool   // it takes the arguments without a dash, and help calls them Name
	Alone   string // in a command without an Operand, an argument without a dash sets it, too; its name in help
	field   field
	value   reflect.Value
	given   bool
	alone   bool // by an argument without a dash
}

// Flags are a struct's settings as a command's arguments, in the order of declaration.
type Flags []*Flag

// NewFlags returns the flags that set the fields of the struct that v points to. The flag of a key
// in a section begins with the section's name, as in -tuned-steps. The struct's values are the
// defaults.
func NewFlags(v any) (Flags, error) {
	of, err := structOf(v)
	if err != nil {
		return nil, err
	}
	s, err := schemaOf(of, nil)
	if err != nil {
		return nil, err
	}
	return s.flags(of, ""), nil
}

// flags lists the flags of the struct v, each name with a prefix for its section.
func (s schema) flags(v reflect.Value, prefix string) Flags {
	var all Flags
	for _, f := range s.fields[v.Type()] {
		value, name := v.FieldByIndex(f.Index), prefix+strings.ReplaceAll(f.Key, "_", "-")
		if value.Kind() == reflect.Struct && !isText(value.Type()) {
			all = append(all, s.flags(value, name+"-")...)
			continue
		}
		flag := &Flag{Name: name, field: f, value: value, Group: f.Tag.Get("group"), Alone: f.Tag.Get("alone")}
		flag.Value, flag.Help = placeholder(f.Tag.Get("help"))
		if operand, ok := f.Tag.Lookup("arg"); ok {
			flag.Name, flag.Operand = operand, true
		} else if text := flag.defaultText(); text != "" {
			flag.Help += " (default " + text + ")"
		}
		if flag.Value == "" && flag.Bare() == "" {
			flag.Value = "VALUE"
		}
		all = append(all, flag)
	}
	return all
}

// placeholder returns the word in angle brackets in a help text, and the text without the
// brackets.
func placeholder(help string) (name, text string) {
	before, rest, found := strings.Cut(help, "<")
	name, after, closed := strings.Cut(rest, ">")
	if !found || !closed {
		return "", help
	}
	return name, before + name + after
}

// defaultText returns a flag's default as help shows it, "" if the default is not worth showing.
func (f *Flag) defaultText() string {
	if text := f.field.Tag.Get("default"); text != "" && f.value.IsZero() {
		return text
	}
	if f.value.IsZero() || f.value.Kind() == reflect.Slice && f.value.Len() == 0 {
		return ""
	}
	if duration, ok := f.value.Interface().(time.Duration); ok {
		return duration.String()
	}
	return strings.NewReplacer(`"`, "", ", ", ",", "[", "", "]", "").Replace(valueText(f.value))
}

// Bare returns the value of a flag given without one, "" if the flag needs a value.
func (f *Flag) Bare() string {
	if f.value.Kind() == reflect.Bool {
		return "true"
	}
	return f.field.Tag.Get("bare")
}

// Lookup returns the flag with a name.
func (all Flags) Lookup(name string) (*Flag, error) {
	var names []string
	for _, f := range all {
		if f.Name == name && !f.Operand {
			return f, nil
		}
		if !f.Operand {
			names = append(names, "-"+f.Name)
		}
	}
	return nil, &UnknownFlagError{name, spelling.Hint("-"+name, names)}
}

// UnknownFlagError reports a flag that a command does not have.
type UnknownFlagError struct{ Name, Hint string }

// Error names the flag, and one that is spelled alike.
func (e *UnknownFlagError) Error() string { return "unknown flag -" + e.Name + e.Hint }

// Given lists the names of the flags that a call has set; it is the type of a field in a command's
// settings.
type Given []string

// Given lists the names of the flags that the call has set.
func (all Flags) Given() Given {
	var names Given
	for _, f := range all {
		if f.given && !f.Operand {
			names = append(names, f.Name)
		}
	}
	return names
}

// Operand returns the flag that takes arguments without a dash, and its name in help; nil if there
// is none.
func (all Flags) Operand() (f *Flag, name string) {
	if i := slices.IndexFunc(all, func(f *Flag) bool { return f.Operand }); i >= 0 {
		return all[i], all[i].Name
	}
	if i := slices.IndexFunc(all, func(f *Flag) bool { return f.Alone != "" }); i >= 0 {
		return all[i], all[i].Alone
	}
	return nil, ""
}

// SetAlone stores an argument without a dash. After that the flag takes no other value, unless it
// is a list.
func (f *Flag) SetAlone(text string) error {
	if f.given && !f.Operand && f.value.Kind() != reflect.Slice {
		return errors.Errorf("want one %s, got %q, too; put quotes around a value with spaces", f.Alone, text)
	}
	err := f.Set(text)
	f.alone = true
	return err
}

// Set stores a value given as text; quotes are part of the value. An empty text is an error.
func (f *Flag) Set(text string) error {
	first := !f.given
	f.given = true
	if f.value.Kind() == reflect.Slice && !isText(f.value.Type()) {
		return f.add(text, first)
	}
	if text == "" && f.value.Kind() == reflect.String {
		return f.problem("want a value, got an empty one")
	}
	if (f.Operand || f.alone) && !first {
		return errors.Errorf("want one %s, got %q, too", cmp.Or(f.Alone, f.Name), text)
	}
	return f.problem(setText(f.value, text))
}

// add appends the value of one flag to a list. The first value, and a text of several
// separated values, replace the list.
func (f *Flag) add(text string, first bool) error {
	if text == "" {
		return f.problem("want a value, got an empty one")
	}
	parts := []string{text}
	if separator := f.field.Tag.Get("split"); separator != "" {
		parts, first = strings.Split(text, separator), true
	}
	list := f.value
	if first {
		list = reflect.Zero(f.value.Type())
	}
	for _, part := range parts {
		item := reflect.New(f.value.Type().Elem()).Elem()
		if problem := setText(item, part); problem != "" {
			return f.problem(problem)
		}
		list = reflect.Append(list, item)
	}
	f.value.Set(list)
	return nil
}

// problem returns the error for a flag's value, given what is wrong with it; nil for "".
func (f *Flag) problem(text string) error {
	if text == "" {
		return nil
	}
	return &Error{Key: f.label(), Problem: text}
}

// label returns the name that errors use for a flag.
func (f *Flag) label() string {
	if f.Operand {
		return f.Name
	}
	return "-" + f.Name
}

// Check returns an error for the first flag whose value is outside its bounds.
func (all Flags) Check() error {
	for _, f := range all {
		if err := f.problem(outOfBounds(f.field, f.value)); err != nil {
			return err
		}
	}
	return nil
}

// setText parses a text and stores it in v. It returns what is wrong with the text, "" if
// nothing.
func setText(v reflect.Value, text string) string {
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		problem := setText(fresh.Elem(), text)
		if problem == "" {
			v.Set(fresh)
		}
		return problem
	}
	if duration, ok := v.Addr().Interface().(*time.Duration); ok {
		parsed, err := time.ParseDuration(text)
		if err != nil {
			return "want a time such as 30s or 10m, got " + quoted(text)
		}
		*duration = parsed
		return ""
	}
	if isText(v.Type()) {
		if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
			return err.Error()
		}
		return ""
	}
	if v.Kind() == reflect.String {
		v.SetString(text)
		return ""
	}
	return scalar{text: text, plain: true}.into(v)
}

// isText tells whether a type's values are parsed from a string by a method of the type.
func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
