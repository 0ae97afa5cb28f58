package commandline

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/pkg/errors"
	"golang.org/x/term"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/statusline"
)

// Output is where a command writes: results to Stdout, messages to Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	program        string // as in Command.Program
}

// Call returns the call of a command with its arguments in the program.
func (o Output) Call(command string) string { return call(o.program, command) }

// Terminal tells whether Stderr is a terminal on which a line can be redrawn.
func (o Output) Terminal() bool { return os.Getenv("TERM") != "dumb" && IsTerminal(o.Stderr) }

// IsTerminal tells whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns returns the width of the terminal that Stdout is, for figure.Table's Within, or 0 if it
// is none.
func (o Output) Columns() int { return statusline.Columns(o.Stdout) }

// Warn writes a line to Stderr about something that may be wrong.
func (o Output) Warn(message string) { fmt.Fprintf(o.Stderr, "warning: %s\n", oneLine(message)) }

// Note writes a line of news to Stderr.
func (o Output) Note(message string) { fmt.Fprintf(o.Stderr, "note: %s\n", oneLine(message)) }

// Print writes lines to Stdout, with control characters made visible, so that a terminal does not
// obey them; a file's name may contain any.
func (o Output) Print(text string) error { return o.write(visible(text)) }

// PrintText writes a model's text to Stdout unchanged, or as Print does if Stdout is a terminal.
func (o Output) PrintText(text string) error {
	if IsTerminal(o.Stdout) {
		text = visible(text)
	}
	return o.write(text)
}

// PrintJSON writes v to Stdout as one line, with control characters escaped.
func (o Output) PrintJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return errors.Wrap(err, "cannot write the result as JSON")
	}
	var text strings.Builder
	for _, r := range string(line) { // Marshal escapes only control characters below U+0020
		if unicode.IsControl(r) {
			fmt.Fprintf(&text, `\u%04X`, r)
		} else {
			text.WriteRune(r)
		}
	}
	return o.write(text.String() + "\n")
}

func (o Output) write(text string) error {
	_, err := io.WriteString(o.Stdout, text)
	return errors.Wrap(err, "cannot write the result")
}

// visible makes invisible characters visible, except spaces, tabs and line breaks.
func visible(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for c := range cells {
			cells[c] = figure.Visible(cells[c])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// oneLine joins the lines of a message and makes invisible characters visible, as Print does.
func oneLine(message string) string {
	var parts []string
	for _, line := range strings.Split(message, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, figure.Visible(line))
		}
	}
	return strings.Join(parts, "; ")
}
