package gpucheck

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// results names the exit statuses of a part: 75 and 77 come from run.sh, 124 and 137 from the
// program timeout. Every other status means failure.
var results = map[int]string{0: "passed", 75: "not run", 77: "skipped", 124: "**out of time**", 137: "**out of time**"}

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
	if word, known := results[p.status]; known {
		return word
	}
	return "**failed**"
}

func (p part) bad() bool { return strings.HasPrefix(p.result(), "*") }

// readParts reads parts.txt; if a part ran twice, the later run counts.
func readParts(dir string) ([]part, error) {
	lines, err := readLines(filepath.Join(dir, "parts.txt"))
	if err != nil {
		return nil, err
	}
	var parts []part
	for i, line := range lines {
		var p part
		if _, err := fmt.Sscan(line, &p.name, &p.status, &p.seconds); err != nil {
			return nil, errors.Wrapf(err, "parts.txt, line %d: want a name, an exit status and seconds, got %q", i+1, line)
		}
		log, err := readLines(filepath.Join(dir, p.name+".log"))
		if err != nil {
			return nil, err
		}
		p.readTests(log)
		p.readLog(log)
		parts = slices.DeleteFunc(parts, func(other part) bool { return other.name == p.name })
		parts = append(parts, p)
	}
	return parts, nil
}

// tailLines is how many lines of a failed part's log the report shows.
const tailLines = 40

// readLog collects figures and fenced blocks.
func (p *part) readLog(lines []string) {
	p.tail = lines[max(0, len(lines)-tailLines):]
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

// What a test program prints with -test.v.
var (
	testRuns  = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)`)
	testEnds  = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+)`)
	testError = regexp.MustCompile(`^ *\tError: *\t(.*)`) // testify's
)

// readTests counts the cases in the log of a test program, and lists those that failed with their
// first errors.
func (p *part) readTests(lines []string) {
	running, ends, first := "", map[string]string{}, map[string]string{}
	for _, line := range lines {
		if m := testRuns.FindStringSubmatch(line); m != nil {
			running = m[1]
		} else if m := testEnds.FindStringSubmatch(line); m != nil {
			ends[m[2]] = m[1]
		} else if m := testError.FindStringSubmatch(line); m != nil && first[running] == "" {
			first[running] = m[1]
		}
	}
	for name := range ends {
		for i := range name {
			if name[i] == '/' {
				delete(ends, name[:i]) // a group of cases
			}
		}
	}
	if len(ends) == 0 {
		return
	}
	count := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		if count[ends[name]]++; ends[name] == "FAIL" {
			p.failed = append(p.failed, strings.TrimSuffix(fmt.Sprintf("`%s`: %s", name, first[name]), ": "))
		}
	}
	p.figures = append(p.figures, fmt.Sprintf("%d tests passed, %d failed, %d skipped", count["PASS"], count["FAIL"], count["SKIP"]))
}

// readLines reads a file of lines.
func readLines(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return nil, errors.WithStack(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), nil
}
