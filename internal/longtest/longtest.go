// Package longtest decides which tests run. go test ./... runs a selection that takes a few
// minutes, in which one case represents a costly test. With RESIDUA_LONG_TESTS=1 in the
// environment, longer tests run as well: more points of failure, more combinations of
// options, large sizes. With RESIDUA_LONG_TESTS=all, every case, every point of failure and every
// entry of a gradient is tested (make test-long). With -short the selection is smaller still, and
// no long tests run.
package longtest

import (
	"os"
	"runtime/debug"
	"testing"
)

// variable is the environment variable that enables long tests, with the value 1 or All.
const variable = "RESIDUA_LONG_TESTS"

// All is the value of variable that enables everything.
const All = "all"

// Enabled reports whether long tests are enabled and -short is not set. Call it from a test or a
// benchmark: before, the flags are not parsed.
func Enabled() bool { return (os.Getenv(variable) == "1" || Exhaustive()) && !testing.Short() }

// Exhaustive reports whether everything is enabled and -short is not set.
func Exhaustive() bool { return os.Getenv(variable) == All && !testing.Short() }

// Main runs the tests of a package that builds many graphs. It collects garbage less often than Go
// does by default, which saves a quarter of their processor time, unless they keep so much that 2
// GiB would be exceeded.
func Main(m *testing.M) {
	debug.SetGCPercent(300)
	debug.SetMemoryLimit(2 << 30)
	os.Exit(m.Run())
}

// Represent skips a case that others represent, one for which chosen is false, unless everything is
// enabled (Exhaustive).
func Represent(t testing.TB, chosen bool) {
	t.Helper()
	if !chosen && !Exhaustive() {
		t.Skipf("long: runs with %s=%s and without -short", variable, All)
	}
}

// Select skips a case that others represent, one for which chosen is false, unless long tests are
// Enabled.
func Select(t testing.TB, chosen bool) {
	t.Helper()
	if !chosen {
		Skip(t)
	}
}

// Skip skips a test unless long tests are Enabled.
func Skip(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skipf("long: runs with %s=1 and without -short", variable)
	}
}
