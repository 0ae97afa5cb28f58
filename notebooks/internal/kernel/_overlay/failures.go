package main

import (
	"fmt"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	interp "github.com/cosmos72/gomacro/fast"
)

// failure is the error of a cell.
type failure struct {
	message string
	places  []place // where it failed, then the calls that led there
}

// place is a line of a cell.
type place struct {
	cell   string
	line   int // 0: unknown
	source string
}

func (p place) String() string {
	if p.line == 0 {
		return p.cell
	}
	return fmt.Sprintf("%s, line %d", p.cell, p.line)
}

func (f *failure) Error() string { return f.places[0].String() + ": " + f.message }

// longestTraceback is the largest number of calls that a traceback shows.
const longestTraceback = 12

// traceback shows the error, the line that failed, and the lines of the calls that led there.
func traceback(err error) []string {
	f, ok := err.(*failure)
	if !ok {
		return []string{err.Error()}
	}
	lines := []string{f.Error()}
	for i, p := range f.places {
		if i == longestTraceback {
			lines = append(lines, fmt.Sprintf("and %d more calls", len(f.places)-i))
			break
		}
		if i > 0 {
			lines = append(lines, "called from "+p.String())
		}
		if p.line > 0 {
			lines = append(lines, fmt.Sprintf("%5d | %s", p.line, p.source))
		}
	}
	return lines
}

// interruptedMessage is what an interrupted cell shows, wherever it was interrupted.
const interruptedMessage = "interrupted"

// runFailure returns the error of a cell that failed while it ran.
func (s *session) runFailure(f *interp.Failure) error {
	message := fmt.Sprint(f.Cause)
	if s.stopped() || f.Interrupted() {
		message = interruptedMessage
	}
	return s.failureAt(message, f.Calls...)
}

// compilerPlace matches the beginning of the compiler's messages.
var compilerPlace = regexp.MustCompile(`^(cell \d+):(\d+):\d+: `)

// compileFailure returns the error of a cell that could not be compiled.
func (s *session) compileFailure(cause any) error {
	message := fmt.Sprint(cause)
	if s.stopped() { // a shell command
		message = interruptedMessage
	}
	if m := compilerPlace.FindStringSubmatch(message); m != nil {
		line, _ := strconv.Atoi(m[2])
		return &failure{strings.TrimPrefix(message, m[0]), []place{s.place(m[1], line)}}
	}
	return s.failureAt(message, s.ir.Comp.Pos)
}

// failureAt returns an error at the first position, which was called from the others.
func (s *session) failureAt(message string, calls ...token.Pos) error {
	f := &failure{message: message}
	for _, pos := range calls {
		if p := s.ir.Comp.Fileset.Position(pos); p.IsValid() {
			f.places = append(f.places, s.place(p.Filename, p.Line))
		}
	}
	if len(f.places) == 0 {
		f.places = []place{{cell: s.cell}}
	}
	return f
}

// place quotes a line of a cell.
func (s *session) place(cell string, line int) place {
	p := place{cell: cell, line: line}
	if lines := s.cells[cell]; 0 < line && line <= len(lines) {
		p.source = lines[line-1]
	}
	return p
}
