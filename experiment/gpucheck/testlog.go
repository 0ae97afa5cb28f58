package gpucheck

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// testLog is the output of a test program with -test.v.
type testLog struct {
	results map[string]string             // PASS, FAIL or SKIP for each test
	worst   map[string]map[string]float64 // by device and by what was compared: the largest error
	order   []string                      // devices in the order of their appearance
	running string
	errors  map[string]string // for a failed test: its first error
	error   []string          // lines of the error being read
}

// errorLines is how many lines of an error are kept: testify's message and the first causes.
const errorLines = 3

var (
	testRuns   = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)`)
	testEnds   = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+)`)
	testErrors = regexp.MustCompile(`: worst errors?(?: over \d+ steps)?: (.*)$`)
	testError  = regexp.MustCompile(`^(.*) (\d(?:\.\d+)?e[-+]\d+)$`)
)

// readTestLog reads a log; ok tells whether it comes from a test program.
func readTestLog(lines []string) (l *testLog, ok bool) {
	l = newTestLog()
	for _, line := range lines {
		l.read(line)
	}
	return l, len(l.results) > 0
}

func newTestLog() *testLog {
	return &testLog{results: map[string]string{}, worst: map[string]map[string]float64{}, errors: map[string]string{}}
}

// read reads the next line. A test that has failed in one process stays failed, even if another
// process runs its remaining cases.
func (l *testLog) read(line string) {
	l.readError(strings.TrimSpace(line))
	if m := testRuns.FindStringSubmatch(line); m != nil {
		l.running = m[1]
	} else if m := testEnds.FindStringSubmatch(line); m != nil {
		if l.results[m[2]] != "FAIL" {
			l.results[m[2]] = m[1]
		}
	} else if m := testErrors.FindStringSubmatch(line); m != nil {
		l.add(m[1])
	}
}

// afterError matches what can follow an error's text: another field, another test, or a line of the
// stack.
var afterError = regexp.MustCompile(`^(Test:|Messages:|---|===|\S+/\S+$)`)

// readError collects the lines of a test's first error, starting with "Error:".
func (l *testLog) readError(line string) {
	text, begins := strings.CutPrefix(line, "Error:")
	switch {
	case begins && l.errors[l.running] == "":
		l.error = []string{strings.TrimSpace(text)}
	case l.error == nil || len(l.error) == errorLines || afterError.MatchString(line):
		l.error = nil
		return
	default:
		l.error = append(l.error, line)
	}
	l.errors[l.running] = strings.Join(l.error, " ")
}

// add records the largest of a device's errors, given in the form "logits 1.2e-07, loss 0.0e+00".
func (l *testLog) add(list string) {
	device := deviceOf(l.running)
	if l.worst[device] == nil {
		l.worst[device] = map[string]float64{}
		l.order = append(l.order, device)
	}
	for _, text := range strings.Split(list, ", ") {
		if m := testError.FindStringSubmatch(text); m != nil {
			value, _ := strconv.ParseFloat(m[2], 64) // the expression matches only numbers
			l.worst[device][m[1]] = max(l.worst[device][m[1]], value)
		}
	}
}

// precisions lists the precisions that may occur in a test's name, each before any shorter part of
// it.
func precisions() []string { return []string{"float64", "float32", "fp32", "tf32", "bf16"} }

// deviceOf returns the precision that a test is about, by its name.
func deviceOf(test string) string {
	for _, p := range precisions() {
		if strings.Contains(test, p) {
			return p
		}
	}
	return "other"
}

// leaves lists the tests without subtests.
func (l *testLog) leaves() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.results)), l.hasCases)
}

// failed lists the tests that failed, without those that failed only because of a subtest.
func (l *testLog) failed() []string {
	return slices.DeleteFunc(l.leaves(), func(name string) bool { return l.results[name] != "FAIL" })
}

// figures summarises the number of tests and the worst errors.
func (l *testLog) figures() []string {
	counts, passed := map[string]int{}, map[string]int{}
	for _, name := range l.leaves() {
		counts[l.results[name]]++
		if l.results[name] == "PASS" {
			passed[deviceOf(name)]++
		}
	}
	text := fmt.Sprintf("%d tests passed, %d failed, %d skipped", counts["PASS"], counts["FAIL"], counts["SKIP"])
	var each []string
	for _, p := range precisions() {
		if passed[p] > 0 {
			each = append(each, fmt.Sprintf("%s %d", p, passed[p]))
		}
	}
	if len(each) > 0 {
		text += " (passed of " + strings.Join(each, ", ") + ")"
	}
	figures := []string{text}
	for _, device := range l.order {
		if len(l.worst[device]) == 0 { // there was nothing in the known form
			continue
		}
		figures = append(figures, "worst errors, "+device+": "+largest(l.worst[device]))
	}
	return figures
}

// largest lists errors by name.
func largest(worst map[string]float64) string {
	var list []string
	for what, value := range worst {
		list = append(list, fmt.Sprintf("%s %.1e", what, value))
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}
