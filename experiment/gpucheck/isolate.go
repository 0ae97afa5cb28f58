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

// Isolation runs a test program so that a case that breaks the device, hangs or ends the program
// costs that case alone: each failure ends the process, and what has not run yet goes on in a fresh one.
type Isolation struct {
	Program []string      // the test program, and arguments of its own
	Tests   string        // as -test.run
	Skip    string        // as -test.skip; "": nothing
	Limit   time.Duration // of a case: how long the program may say nothing; 0: none
}

// What bounds how often a program is started: a device on which nothing works is not tried for every case.
const (
	mostProcesses = 40
	mostAlike     = 3 // failed cases of one op in one precision, after which the others of them are left out
)

// Run copies to out what the processes print, as one log. It fails if a case did.
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

// process runs the program once, up to the first failure, without what has run before.
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

// reader takes what a process says.
type reader struct {
	log     *testLog
	out     io.Writer // gets it, too
	failed  error     // the first of out: its disk may be full, and the tests go on
	limit   time.Duration
	silence *time.Timer // ends the process
	begun   []byte      // a line
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

// unfinished is the case that was running when its process ended, "" if all had ended.
func (l *testLog) unfinished() string {
	if _, ended := l.results[l.running]; ended {
		return ""
	}
	return l.running
}

// skip is a pattern of the cases that have results, whole groups of them where all passed.
func (l *testLog) skip(first string) string {
	var patterns []string
	if first != "" {
		patterns = append(patterns, first)
	}
	for _, name := range slices.Sorted(maps.Keys(l.results)) {
		if l.results[name] == "FAIL" && l.hasCases(name) || l.insidePassed(name) {
			continue // its cases are listed one by one; or a group lists it
		}
		var levels []string
		for _, level := range strings.Split(name, "/") {
			levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
		}
		patterns = append(patterns, strings.Join(levels, "/"))
	}
	return strings.Join(append(patterns, l.leftOut()...), "|")
}

// leftOut is patterns of the cases of which too many alike have failed.
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

// alike is a pattern of the cases of a case's op in its precision, as ^TestDevice$/^Add$/.*/^bf16$; "": it has none.
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

// insidePassed tells whether a group that a test belongs to has passed as a whole.
func (l *testLog) insidePassed(name string) bool {
	for i := range name {
		if result := l.results[name[:i]]; name[i] == '/' && (result == "PASS" || result == "SKIP") {
			return true
		}
	}
	return false
}
