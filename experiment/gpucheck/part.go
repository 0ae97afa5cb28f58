package gpucheck

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// Exit statuses of a part that was ended from outside.
const (
	statusPassed  = 0
	statusNoTime  = 75
	statusSkipped = 77
	statusTimeout = 124 // status of the program timeout
	statusKilled  = 137 // the same, if the program had to be killed
)

// part is one part of the check.
type part struct {
	name    string
	status  int
	seconds int
	figures []string
	blocks  []string
	failed  []string // failed tests with their errors
	tail    []string // end of the log
}

// result returns a word for the table.
func (p part) result() string {
	switch p.status {
	case statusPassed:
		return "passed"
	case statusSkipped:
		return "skipped"
	case statusNoTime:
		return "not run"
	case statusTimeout, statusKilled:
		return "**out of time**"
	}
	return "**failed**"
}

func (p part) bad() bool {
	return p.status != statusPassed && p.status != statusSkipped && p.status != statusNoTime
}

// readParts reads parts.txt; if a part ran twice, the later run counts.
func readParts(dir string) ([]part, error) {
	lines, err := readLines(filepath.Join(dir, "parts.txt"))
	if err != nil {
		return nil, err
	}
	var parts []part
	for i, line := range lines {
		p, err := parsePart(line)
		if err != nil {
			return nil, errors.Wrapf(err, "parts.txt, line %d", i+1)
		}
		if err := p.read(dir); err != nil {
			return nil, err
		}
		parts = slices.DeleteFunc(parts, func(other part) bool { return other.name == p.name })
		parts = append(parts, p)
	}
	return parts, nil
}

func parsePart(line string) (part, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return part{}, errors.Errorf("want a name, an exit status and seconds, got %q", line)
	}
	status, err := strconv.Atoi(fields[1])
	if err != nil {
		return part{}, errors.Wrap(err, "exit status")
	}
	seconds, err := strconv.Atoi(fields[2])
	return part{name: fields[0], status: status, seconds: seconds}, errors.Wrap(err, "seconds")
}

// tailLines is how many lines of a failed part's log the report shows.
const tailLines = 40

// read reads what the part has left in the folder.
func (p *part) read(dir string) error {
	lines, err := readLines(filepath.Join(dir, p.name+".log"))
	if err != nil {
		return err
	}
	p.readLog(lines)
	if l, ok := readTestLog(lines); ok {
		p.figures = append(l.figures(), p.figures...)
		for _, name := range l.failed() {
			line := "`" + name + "`"
			if text := l.errors[name]; text != "" {
				line += ": " + text
			}
			p.failed = append(p.failed, line)
		}
	}
	figures, err := benchmarkFigures(filepath.Join(dir, p.name+".json"))
	p.figures = append(p.figures, figures...)
	p.tail = lines[max(0, len(lines)-tailLines):]
	return err
}

// readLog collects figures and fenced blocks.
func (p *part) readLog(lines []string) {
	var block []string
	inside := false
	for _, line := range lines {
		figure, is := strings.CutPrefix(line, "figure: ")
		switch {
		case line == fence && inside:
			p.blocks = append(p.blocks, strings.Join(block, "\n"))
			block, inside = nil, false
		case line == fence:
			inside = true
		case inside:
			block = append(block, line)
		case is:
			p.figures = append(p.figures, figure)
		}
	}
}

// readLines reads a file of lines.
func readLines(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return nil, errors.WithStack(err)
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n"), nil
}
