package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// A report's folder holds what run.sh has collected:
//
//	machine.txt   what it ran on
//	parts.txt     a line a part that has ended: its name, exit status, seconds
//	PART.log      its output: a line "figure: ..." goes into the table, what lies between
//	              two lines of fence is copied, the log of a test program is summed up
//	PART.json     of a benchmark: cmd/bench's -out

// fence begins and ends what is copied from a log.
const fence = "```"

// Exit statuses of a part that did not fail by itself.
const (
	statusPassed  = 0
	statusSkipped = 77
	statusTimeout = 124 // as timeout has it
	statusKilled  = 137 // the same, when the program did not end by itself
)

// part is one part of the check.
type part struct {
	name    string
	status  int
	seconds int
	figures []string
	blocks  []string
	failed  []string // tests
	tail    []string // of the log
}

// result is a word for the table.
func (p part) result() string {
	switch p.status {
	case statusPassed:
		return "passed"
	case statusSkipped:
		return "skipped"
	case statusTimeout, statusKilled:
		return "**out of time**"
	}
	return "**failed**"
}

func (p part) bad() bool { return p.status != statusPassed && p.status != statusSkipped }

// readParts reads parts.txt; of a part that ran twice the later run counts.
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

// tailLines is how much of a failed part's log the report shows.
const tailLines = 40

// read takes what the part has left in the folder.
func (p *part) read(dir string) error {
	lines, err := readLines(filepath.Join(dir, p.name+".log"))
	if err != nil {
		return err
	}
	p.readLog(lines)
	if l, ok := readTestLog(lines); ok {
		p.figures = append(l.figures(), p.figures...)
		p.failed = l.failed()
	}
	b, err := readBenchmark(filepath.Join(dir, p.name+".json"))
	if err != nil {
		return err
	}
	p.figures = append(p.figures, b.figures()...)
	p.tail = lines[max(0, len(lines)-tailLines):]
	return nil
}

// readLog takes figures and fenced blocks.
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

func readLines(path string) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, errors.WithStack(err)
	}
	defer func() { _ = file.Close() }()
	var lines []string
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		lines = append(lines, strings.TrimRight(scan.Text(), "\r"))
	}
	return lines, errors.WithStack(scan.Err())
}

// writeReport writes report.md into the folder and says how the check went.
func writeReport(dir string, out io.Writer) error {
	parts, err := readParts(dir)
	if err != nil {
		return err
	}
	machine, err := readLines(filepath.Join(dir, "machine.txt"))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "report.md")
	if err := os.WriteFile(path, []byte(markdown(machine, parts)), 0o644); err != nil {
		return errors.WithStack(err)
	}
	var bad []string
	for _, p := range parts {
		if p.bad() {
			bad = append(bad, p.name)
		}
	}
	verdict := "no part has failed"
	if len(bad) > 0 {
		verdict = "failed: " + strings.Join(bad, ", ")
	}
	_, err = fmt.Fprintf(out, "%s: %s\n", path, verdict)
	return errors.WithStack(err)
}

// markdown is the report: the machine, a table, and a section for each part that has more
// to say.
func markdown(machine []string, parts []part) string {
	var text strings.Builder
	fmt.Fprintf(&text, "# GPU check\n\n%s\n%s\n%s\n\n", fence, strings.Join(machine, "\n"), fence)
	text.WriteString("| part | result | seconds | figures |\n|---|---|---|---|\n")
	for _, p := range parts {
		cell := strings.ReplaceAll(strings.Join(p.figures, "<br>"), "|", "\\|")
		fmt.Fprintf(&text, "| %s | %s | %d | %s |\n", p.name, p.result(), p.seconds, cell)
	}
	for _, p := range parts {
		text.WriteString(p.section())
	}
	return text.String()
}

// section has a part's blocks and, where it failed, what failed.
func (p part) section() string {
	if len(p.blocks) == 0 && !p.bad() {
		return ""
	}
	text := fmt.Sprintf("\n## %s\n", p.name)
	for _, name := range p.failed {
		text += "- failed: `" + name + "`\n"
	}
	blocks := p.blocks
	if p.bad() {
		blocks = append(slices.Clone(blocks), "the end of "+p.name+".log:\n\n"+strings.Join(p.tail, "\n"))
	}
	for _, b := range blocks {
		text += "\n" + fence + "\n" + strings.ReplaceAll(b, fence, "'''") + "\n" + fence + "\n"
	}
	return text
}
