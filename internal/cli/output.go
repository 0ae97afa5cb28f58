package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pkg/errors"
	"golang.org/x/term"

	"github.com/residua-go/residua/figure"
)

// Output is where a command writes: results to Stdout, messages to Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	program        string // as in Command
}

// Spell writes the calls in a text, go run ./cmd/NAME, as they are called in the command's program.
func (o Output) Spell(text string) string { return spell(o.program, text) }

// Terminal tells whether Stderr is a terminal on which a line can be drawn again.
func (o Output) Terminal() bool {
	f, ok := o.Stderr.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}

// Warn writes a line to Stderr about something that may be wrong.
func (o Output) Warn(message string) { fmt.Fprintf(o.Stderr, "warning: %s\n", oneLine(message)) }

// Note writes a line of news to Stderr.
func (o Output) Note(message string) { fmt.Fprintf(o.Stderr, "note: %s\n", oneLine(message)) }

// Print writes text to Stdout.
func (o Output) Print(text string) error {
	_, err := io.WriteString(o.Stdout, text)
	return errors.Wrap(err, "cannot write the result")
}

// PrintJSON writes v to Stdout as one line.
func (o Output) PrintJSON(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return errors.Wrap(err, "cannot write the result as JSON")
	}
	return o.Print(string(line) + "\n")
}

// oneLine joins the lines of a message and shows what control characters it holds (a file's
// name may have any), so that a terminal does not obey them.
func oneLine(message string) string {
	var parts []string
	for _, line := range strings.Split(message, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, figure.Visible(line))
		}
	}
	return strings.Join(parts, "; ")
}
