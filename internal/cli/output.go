package cli

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
)

// Output is where a command writes: results to Stdout, messages to Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	program        string // as in Command
}

// Call writes how a command with its arguments is called in the program.
func (o Output) Call(command string) string { return call(o.program, command) }

// Terminal tells whether Stderr is a terminal on which a line can be drawn again.
func (o Output) Terminal() bool { return os.Getenv("TERM") != "dumb" && IsTerminal(o.Stderr) }

// IsTerminal tells whether someone sits before a stream.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Warn writes a line to Stderr about something that may be wrong.
func (o Output) Warn(message string) { fmt.Fprintf(o.Stderr, "warning: %s\n", oneLine(message)) }

// Note writes a line of news to Stderr.
func (o Output) Note(message string) { fmt.Fprintf(o.Stderr, "note: %s\n", oneLine(message)) }

// Print writes lines to Stdout and shows what control characters they hold (a file's name may have
// any), so that a terminal does not obey them.
func (o Output) Print(text string) error { return o.write(visible(text)) }

// PrintText writes what a model wrote to Stdout: as it is, but on a terminal as Print does.
func (o Output) PrintText(text string) error {
	if IsTerminal(o.Stdout) {
		text = visible(text)
	}
	return o.write(text)
}

// PrintJSON writes v to Stdout as one line, in which control characters are escaped.
func (o Output) PrintJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return errors.Wrap(err, "cannot write the result as JSON")
	}
	var text strings.Builder
	for _, r := range string(line) { // Marshal escapes those below U+0020 alone
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

// visible is a text with what is invisible made visible, apart from spaces, tabs and line breaks.
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

// oneLine joins the lines of a message, made visible as Print does.
func oneLine(message string) string {
	var parts []string
	for _, line := range strings.Split(message, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, figure.Visible(line))
		}
	}
	return strings.Join(parts, "; ")
}
