package settings

import (
	"fmt"
	"slices"
	"strings"
)

// setPosition is the position of settings from the command line, in Positions and errors.
const setPosition = "-set"

// Error is a problem with one key of a config. Its text is a single line, `position: key: problem`,
// without the parts that are empty.
type Error struct {
	Position string // "configs/x.yaml:12", "configs/x.yaml" or "-set"
	Key      string // dotted, as in train.steps; "" for the whole text
	Problem  string // what was wanted, what was found, and the likely fix
	Unknown  bool   // no setting has this key
}

// Error returns "position: key: problem".
func (e *Error) Error() string {
	parts := slices.DeleteFunc([]string{e.Position, e.Key, e.Problem}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}

// Positions tells where the keys of a config were given. In nil and in the zero value every key has
// its default.
type Positions struct {
	Reader
	file string
	at   map[string]string // dotted key -> position
}

// Of returns the position of a dotted key: "configs/x.yaml:12", or "-set" for an override, or
// "" if it has its default. Sections are keys too ("train"), and so are the entries of lists
// ("data.path[1]").
func (p *Positions) Of(key string) string {
	if p == nil {
		return ""
	}
	return p.at[key]
}

// Errorf returns the *Error of a key whose value a later check refuses: `configs/x.yaml:12:
// model.rank: want >= 1, got 0`. If the key has its default, the position is the file without a
// line.
func (p *Positions) Errorf(key, format string, args ...any) error {
	position := p.Of(key)
	if position == "" && p != nil {
		position = p.file
	}
	return &Error{Position: position, Key: key, Problem: fmt.Sprintf(format, args...)}
}

// line returns the position of a line of the file; line 0 is the whole file.
func (p *Positions) line(line int) string {
	if line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, line)
}
