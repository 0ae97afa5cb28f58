// Package check defines the errors of caches and analyses, for callers to match with errors.Is and
// errors.As, and functions that make them.
package check

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/internal/spelling"
)

// RangeError says that an index is not in a range: of a layer, a head, a token.
type RangeError struct {
	Name string // what is counted: "layer"
	N    int    // how many there are
	Got  int
}

// Error says which indices there are.
func (e RangeError) Error() string {
	return fmt.Sprintf("%s: want 0 to %d, got %d", e.Name, e.N-1, e.Got)
}

// Index returns a RangeError unless i is one of n.
func Index(name string, i, n int) error {
	if i < 0 || i >= n {
		return RangeError{name, n, i}
	}
	return nil
}

// ValueError says that an option or an argument has a value that cannot be used.
type ValueError struct {
	Name string // of the option, or of what has the value: "draws"
	Want string // "at least 2"
	Got  string
}

// Error is "draws: want at least 2, got 1".
func (e ValueError) Error() string { return fmt.Sprintf("%s: want %s, got %s", e.Name, e.Want, e.Got) }

// Is tells whether target is a ValueError of the same name; what else target states must agree.
func (e ValueError) Is(target error) bool {
	t, ok := target.(ValueError)
	return ok && agree(t.Name, e.Name) && agree(t.Want, e.Want) && agree(t.Got, e.Got)
}

// Value makes a ValueError.
func Value(name, want string, got any) error { return ValueError{name, want, fmt.Sprint(got)} }

// Valuef makes a ValueError that wants what a format says.
func Valuef(name string, got any, want string, args ...any) error {
	return Value(name, fmt.Sprintf(want, args...), got)
}

// NoPrompt returns the error for a prompt without tokens.
func NoPrompt() error { return Value("prompt", "at least 1 token", "none") }

// AtLeast returns a ValueError if got is below least.
func AtLeast(name string, least, got int) error {
	if got < least {
		return Valuef(name, got, "at least %d", least)
	}
	return nil
}

// UnknownNameError says that nothing has the given name.
type UnknownNameError struct {
	Kind    string // of what: "writer"
	Name    string
	Nearest string // the name that was probably meant; "": none is near
	Known   []string
}

// Error suggests the nearest name, or lists all known names.
func (e UnknownNameError) Error() string {
	if e.Nearest != "" {
		return fmt.Sprintf("no %s %q; did you mean %s?", e.Kind, e.Name, e.Nearest)
	}
	return fmt.Sprintf("no %s %q; want one of %s", e.Kind, e.Name, strings.Join(e.Known, ", "))
}

// Is tells whether target is an UnknownNameError whose stated fields equal e's.
func (e UnknownNameError) Is(target error) bool {
	t, ok := target.(UnknownNameError)
	return ok && agree(t.Kind, e.Kind) && agree(t.Name, e.Name) && agree(t.Nearest, e.Nearest)
}

// Unknown makes an UnknownNameError.
func Unknown(kind, name string, known []string) UnknownNameError {
	return UnknownNameError{kind, name, spelling.Nearest(name, known), known}
}

// UnsupportedError says that an analysis does not work on a model's stream.
type UnsupportedError struct {
	Analysis string   // "": none has been asked for by its name
	Want     string   // what the analysis needs
	Stream   string   // the name of its design
	Has      []string // the analyses that it has
}

// Error lists what the stream has.
func (e UnsupportedError) Error() string {
	text := fmt.Sprintf("want %s, got the %s stream", e.Want, e.Stream)
	if e.Analysis == "" {
		return text
	}
	return fmt.Sprintf("%s: %s, which has %s", e.Analysis, text, strings.Join(e.Has, ", "))
}

// Is tells whether target is an UnsupportedError whose stated fields equal e's.
func (e UnsupportedError) Is(target error) bool {
	t, ok := target.(UnsupportedError)
	return ok && agree(t.Analysis, e.Analysis) && agree(t.Want, e.Want) && agree(t.Stream, e.Stream)
}

// agree tells whether a stated text, if there is one, equals the actual one.
func agree(stated, actual string) bool { return stated == "" || stated == actual }
