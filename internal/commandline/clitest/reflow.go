package clitest

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Reflow simulates a terminal that wraps its lines again when its width changes, as most do. It
// knows the control sequences that redraw a line.
type Reflow struct {
	mu      sync.Mutex
	columns int
	lines   [][]rune // as written, regardless of how many rows they take
	line    int      // line of the cursor
	at      int      // column of the cursor in its line
	cuts    bool     // what does not fit in a row is cut off
	rest    string   // beginning of an incomplete control sequence
}

// NewReflow returns an empty screen.
func NewReflow(columns int) *Reflow { return &Reflow{columns: columns, lines: [][]rune{nil}} }

// Resize changes the width.
func (r *Reflow) Resize(columns int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.columns = columns
}

// String returns the rows, from the first on.
func (r *Reflow) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rows []string
	for _, line := range r.lines {
		for len(line) > r.columns {
			rows, line = append(rows, string(line[:r.columns])), line[r.columns:]
		}
		rows = append(rows, string(line))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// sequence matches a control sequence; its last character says what it does.
var sequence = regexp.MustCompile("^\x1b\\[([?0-9;]*)([A-Za-z])")

// Write draws what a program writes.
func (r *Reflow) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.rest + string(p)
	for r.rest = ""; text != ""; {
		if text[0] == '\x1b' {
			found := sequence.FindStringSubmatch(text)
			if found == nil {
				r.rest = text
				break
			}
			r.obey(found[1], found[2])
			text = text[len(found[0]):]
			continue
		}
		c := []rune(text)[0]
		text = text[len(string(c)):]
		r.character(c)
	}
	return len(p), nil
}

func (r *Reflow) character(c rune) {
	switch row := r.at / r.columns * r.columns; {
	case c == '\r':
		r.at = row
	case c == '\n':
		r.at -= row
		if r.line++; r.line == len(r.lines) {
			r.lines = append(r.lines, nil)
		}
	default:
		for len(r.lines[r.line]) <= r.at {
			r.lines[r.line] = append(r.lines[r.line], ' ')
		}
		r.lines[r.line][r.at] = c
		if r.at++; r.cuts && r.at == row+r.columns {
			r.at--
		}
	}
}

// obey carries out a control sequence.
func (r *Reflow) obey(parameters, command string) {
	row := r.at / r.columns * r.columns
	switch line := r.lines[r.line]; command {
	case "J":
		r.lines = r.lines[:r.line+1]
		r.lines[r.line] = line[:min(r.at, len(line))]
	case "K":
		r.lines[r.line] = append(line[:min(r.at, len(line)):min(r.at, len(line))], line[min(row+r.columns, len(line)):]...)
	case "A":
		up, _ := strconv.Atoi(parameters)
		for ; up > 0 && r.at >= r.columns; up-- {
			r.at -= r.columns
		}
		for ; up > 0 && r.line > 0; up-- {
			r.line--
			r.at = max(0, len(r.lines[r.line])-1) / r.columns * r.columns
		}
	case "h", "l":
		r.cuts = r.cuts && parameters != "?7" || parameters == "?7" && command == "l"
	}
}
