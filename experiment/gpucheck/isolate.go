package gpucheck

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"
)

// Isolation runs a test program so that a case that breaks the device, hangs or crashes the program
// affects only itself: each failure ends the process, and a fresh one runs the remaining cases.
type Isolation struct {
	Program []string      // the test program with its own arguments
	Tests   string        // value of -test.run
	Skip    string        // value of -test.skip; "": skip nothing
	Limit   time.Duration // how long the program may print nothing before its case counts as failed; 0: no limit
}

// Limits on how often a program is started, so that a device on which nothing works is not tried
// for every case.
const (
	mostProcesses = 40
	mostAlike     = 3 // failed cases of one op in one precision after which the other ones are skipped
)

// Run copies the output of the processes to out as one log. It returns an error if a case failed.
func (i Isolation) Run(ctx context.Context, out io.Writer) error {
	all, complete := newTestLog(), false
	for range mostProcesses {
		log, err := i.process(ctx, all, out)
		if err == nil {
			complete = true
			break
		}
		if ctx.Err() != nil {
			return errors.WithStack(ctx.Err())
		}
		before := len(all.results)
		for name, result := range log.results {
			if all.results[name] != "FAIL" {
				all.results[name] = result
			}
		}
		if failed := log.unfinished(); failed != "" {
			all.results[failed] = "FAIL"
			if _, err := fmt.Fprintf(out, "--- FAIL: %s (ended the process: %v)\n", failed, err); err != nil {
				return errors.WithStack(err)
			}
		}
		if len(all.results) == before {
			return errors.Wrapf(err, "%s: no case has run", i.Program[0])
		}
	}
	failed := all.failed()
	if complete && len(failed) == 0 {
		return nil
	}
	text := "figure: each failure ended its process, and the rest was run in another"
	if left := all.leftOut(); len(left) > 0 {
		text += fmt.Sprintf("; left out after %d failed cases alike: the others of %s", mostAlike, strings.Join(left, ", "))
	}
	if !complete {
		text += fmt.Sprintf("; stopped after %d processes: what came then has not run", mostProcesses)
	}
	if _, err := fmt.Fprintln(out, text); err != nil {
		return errors.WithStack(err)
	}
	if len(failed) == 0 {
		return errors.Errorf("%s: stopped after %d processes", i.Program[0], mostProcesses)
	}
	return errors.Errorf("%d cases failed, the first %s", len(failed), failed[0])
}

// process runs the program once, up to the first failure, skipping what has run before.
func (i Isolation) process(ctx context.Context, done *testLog, out io.Writer) (*testLog, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := cmp.Or(i.Limit, math.MaxInt64)
	r := &reader{log: newTestLog(), out: out, limit: limit, silence: time.AfterFunc(limit, func() { cancel(errors.Errorf("nothing in %v", limit)) })}
	defer r.silence.Stop()
	args := append(slices.Clone(i.Program[1:]), "-test.v", "-test.count=1", "-test.failfast", "-test.timeout=0", "-test.run="+i.Tests)
	if skip := done.skip(i.Skip); skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	run := exec.CommandContext(ctx, i.Program[0], args...)
	run.WaitDelay, run.Stdout, run.Stderr = time.Second, r, r
	err := run.Run()
	return r.log, cmp.Or(context.Cause(ctx), err, r.failed)
}

// reader receives the output of a process.
type reader struct {
	log     *testLog
	out     io.Writer // receives the same output
	failed  error     // first error of out: its disk may be full, but the tests go on
	limit   time.Duration
	silence *time.Timer // ends the process
	begun   []byte      // an incomplete line
}

// Write never fails.
func (r *reader) Write(text []byte) (int, error) {
	r.silence.Reset(r.limit)
	if _, err := r.out.Write(text); r.failed == nil {
		r.failed = errors.WithStack(err)
	}
	r.begun = append(r.begun, text...)
	for {
		line, rest, whole := bytes.Cut(r.begun, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		r.log.read(string(line))
		r.begun = rest
	}
}

// unfinished returns the case that was running when its process ended, "" if all had ended.
func (l *testLog) unfinished() string {
	if _, ended := l.results[l.running]; ended {
		return ""
	}
	return l.running
}

// skip returns a pattern for the cases that have results; groups in which all passed are matched as
// a whole.
func (l *testLog) skip(first string) string {
	var patterns []string
	if first != "" {
		patterns = append(patterns, first)
	}
	for _, name := range slices.Sorted(maps.Keys(l.results)) {
		if l.results[name] == "FAIL" && l.hasCases(name) || l.insidePassed(name) {
			continue // its cases are listed one by one, or a group lists it
		}
		var levels []string
		for _, level := range strings.Split(name, "/") {
			levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
		}
		patterns = append(patterns, strings.Join(levels, "/"))
	}
	return strings.Join(append(patterns, l.leftOut()...), "|")
}

// leftOut returns patterns for the cases to skip because too many similar ones have failed.
func (l *testLog) leftOut() []string {
	count := map[string]int{}
	for _, name := range l.failed() {
		if pattern := alike(name); pattern != "" {
			count[pattern]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n < mostAlike })
	return slices.Sorted(maps.Keys(count))
}

// alike returns a pattern for the cases of the same op in the same precision, like
// ^TestDevice$/^Add$/.*/^bf16$; "" if the name has none.
func alike(name string) string {
	levels := strings.Split(name, "/")
	at := slices.IndexFunc(levels, func(level string) bool { return deviceOf(level) != "other" })
	if at < 2 {
		return ""
	}
	for i := range levels[:at+1] {
		if levels[i] = "^" + regexp.QuoteMeta(levels[i]) + "$"; 1 < i && i < at {
			levels[i] = ".*"
		}
	}
	return strings.Join(levels[:at+1], "/")
}

func (l *testLog) hasCases(name string) bool {
	for other := range l.results {
		if strings.HasPrefix(other, name+"/") {
			return true
		}
	}
	return false
}

// insidePassed tells whether a group that contains the test has passed as a whole.
func (l *testLog) insidePassed(name string) bool {
	for i := range name {
		if result := l.results[name[:i]]; name[i] == '/' && (result == "PASS" || result == "SKIP") {
			return true
		}
	}
	return false
}
