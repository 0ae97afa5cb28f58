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

// testLog is what a test program has said with -test.v.
type testLog struct {
	results map[string]string             // PASS, FAIL or SKIP of each test
	worst   map[string]map[string]float64 // of a device: what was compared -> its largest error
	order   []string                      // of devices, as they come
	running string
	errors  map[string]string // of a failed test: its first error
	error   []string          // the lines of the one that is being read
}

// errorLines is how many lines of an error are kept: what testify says and the first causes.
const errorLines = 3

var (
	testRuns   = regexp.MustCompile(`^=== (?:RUN|NAME|CONT) +(\S+)`)
	testEnds   = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+)`)
	testErrors = regexp.MustCompile(`: worst errors?(?: over \d+ steps)?: (.*)$`)
	testError  = regexp.MustCompile(`^(.*) (\d(?:\.\d+)?e[-+]\d+)$`)
)

// readTestLog reads a log; ok tells whether a test program wrote it.
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

// read takes the next line. A test that has failed in one process and had cases left for another stays failed.
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

// afterError begins what comes after an error's text: another field, another test, a function of the error's stack.
var afterError = regexp.MustCompile(`^(Test:|Messages:|---|===|\S+/\S+$)`)

// readError takes the lines of a test's first error, from "Error:" on.
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

// add keeps the largest of errors such as "logits 1.2e-07, loss 0.0e+00" a device.
func (l *testLog) add(list string) {
	device := deviceOf(l.running)
	if l.worst[device] == nil {
		l.worst[device] = map[string]float64{}
		l.order = append(l.order, device)
	}
	for _, text := range strings.Split(list, ", ") {
		if m := testError.FindStringSubmatch(text); m != nil {
			value, _ := strconv.ParseFloat(m[2], 64) // the expression lets numbers through alone
			l.worst[device][m[1]] = max(l.worst[device][m[1]], value)
		}
	}
}

// precisions are what a test's name may have in it, the longer before its part.
func precisions() []string { return []string{"float64", "float32", "fp32", "tf32", "bf16"} }

// deviceOf is the precision that a test is about, by its name.
func deviceOf(test string) string {
	for _, p := range precisions() {
		if strings.Contains(test, p) {
			return p
		}
	}
	return "other"
}

// leaves lists the tests without tests of their own.
func (l *testLog) leaves() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(l.results)), l.hasCases)
}

// failed lists the tests that failed, without those that a test of theirs failed.
func (l *testLog) failed() []string {
	return slices.DeleteFunc(l.leaves(), func(name string) bool { return l.results[name] != "FAIL" })
}

// figures says how many tests there were, and the worst errors.
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
		if len(l.worst[device]) == 0 { // it said nothing of the known form
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
