// Package longtest says which tests run: go test ./... runs a choice in a few minutes, and with RESIDUA_LONG_TESTS=1 in the
// environment what takes longer runs, too: many points of failure, every combination of options, large sizes. CI runs
// both. With RESIDUA_LONG_TESTS=all every point of failure and every entry of a gradient is tried (make test-long). With -short the
// choice is smaller still, and nothing long runs.
package longtest

import (
	"os"
	"testing"
)

// Variable is the environment variable that asks for long tests, with the value 1, or All.
const Variable = "RESIDUA_LONG_TESTS"

// All is Variable's value that asks for everything.
const All = "all"

// Enabled reports whether long tests were asked for, and not -short. A test calls it, or a benchmark: flags are parsed then.
func Enabled() bool { return (os.Getenv(Variable) == "1" || Exhaustive()) && !testing.Short() }

// Exhaustive reports whether everything was asked for, and not -short.
func Exhaustive() bool { return os.Getenv(Variable) == All && !testing.Short() }

// Skip skips a test unless long tests are Enabled.
func Skip(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skipf("long: runs with %s=1 and without -short", Variable)
	}
}
