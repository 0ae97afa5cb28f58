package gpucheck

import (
	"bufio"
	"context"
	"fmt"
	"io"
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

// mostProcesses bounds how often a program is started: a device on which nothing works is not tried for every case.
const mostProcesses = 40

// Run copies to out what the processes print, as one log. It fails if a case did.
func (i Isolation) Run(ctx context.Context, out io.Writer) error {
	all := newTestLog()
	for range mostProcesses {
		log, err := i.process(ctx, all, out)
		if err == nil {
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
	if len(failed) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(out, "figure: each failure ended its process, and the rest was run in another: failed %s\n", strings.Join(failed, ", ")); err != nil {
		return errors.WithStack(err)
	}
	return errors.Errorf("%d cases failed, the first %s", len(failed), failed[0])
}

// process runs the program once, up to the first failure, without what has run before.
func (i Isolation) process(ctx context.Context, done *testLog, out io.Writer) (*testLog, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.NewTimer(time.Hour)
	if i.Limit > 0 {
		silence = time.AfterFunc(i.Limit, func() { cancel(errors.Errorf("nothing in %v", i.Limit)) })
	}
	defer silence.Stop()
	args := append(slices.Clone(i.Program[1:]), "-test.v", "-test.count=1", "-test.failfast", "-test.timeout=0", "-test.run="+i.Tests)
	if skip := done.skip(i.Skip); skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	run := exec.CommandContext(ctx, i.Program[0], args...)
	run.WaitDelay = time.Second
	log := newTestLog()
	reader, writer := io.Pipe()
	run.Stdout, run.Stderr = writer, writer
	read := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(reader)
		lines.Buffer(nil, 1<<24)
		var failed error
		for lines.Scan() {
			if i.Limit > 0 {
				silence.Reset(i.Limit)
			}
			log.read(lines.Text())
			if _, err := fmt.Fprintln(out, lines.Text()); err != nil && failed == nil {
				failed = err // the log's disk may be full: the tests go on
			}
		}
		if failed == nil {
			failed = lines.Err()
		}
		_, _ = io.Copy(io.Discard, reader)
		read <- failed
	}()
	err := run.Run()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	_ = writer.Close() // of a pipe in memory
	if failed := <-read; err == nil {
		err = failed
	}
	return log, err
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
	var names []string
	for name := range l.results {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if l.results[name] == "FAIL" && l.hasCases(name) || l.insidePassed(name) {
			continue // its cases are listed one by one; or a group lists it
		}
		var levels []string
		for _, level := range strings.Split(name, "/") {
			levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
		}
		patterns = append(patterns, strings.Join(levels, "/"))
	}
	return strings.Join(patterns, "|")
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
