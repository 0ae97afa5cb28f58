package settings

import (
	"fmt"
	"slices"
	"strings"
)

// setPosition stands for the command line in positions and errors.
const setPosition = "-set"

// Error is one problem with one key of a config. Its text is the single line
// `position: key: problem`; parts that are empty are left out.
type Error struct {
	Position string // "configs/x.yaml:12", "configs/x.yaml" or "-set"
	Key      string // dotted, as in train.steps; "" for the text as a whole
	Problem  string // what was wanted, what was got, and the likely fix
	Unknown  bool   // no setting has this key
}

// Error returns the line.
func (e *Error) Error() string {
	parts := slices.DeleteFunc([]string{e.Position, e.Key, e.Problem}, func(part string) bool { return part == "" })
	return strings.Join(parts, ": ")
}

// Positions tells where the keys of a config were given. The zero value and nil
// are those of a config in which every key has its default.
type Positions struct {
	Reader
	file string
	at   map[string]string // dotted key -> position
}

// Of tells for a dotted key where it stood: "configs/x.yaml:12", or "-set" for
// an override, or "" if it has its default. Sections are keys too ("train"), and
// so are the entries of lists ("data.paths[1]").
func (p *Positions) Of(key string) string {
	if p == nil {
		return ""
	}
	return p.at[key]
}

// Errorf makes the *Error of a key whose value does not do, for checks that
// follow decoding: `configs/x.yaml:12: model.rank: want >= 1, got 0`. A key that
// has its default is reported against the file without a line.
func (p *Positions) Errorf(key, format string, args ...any) error {
	position := p.Of(key)
	if position == "" && p != nil {
		position = p.file
	}
	return &Error{Position: position, Key: key, Problem: fmt.Sprintf(format, args...)}
}

// line is the position of a line of the file; line 0 is the file as a whole.
func (p *Positions) line(line int) string {
	if line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, line)
}
