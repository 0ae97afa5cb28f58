package clitest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// programVariable holds, in the processes that Program makes, the name of the command to run.
const programVariable = "RESIDUA_TEST_PROGRAM"

// Serve runs a command instead of the tests, in a process that Program made, and exits. A package's
// TestMain calls it first, so that tests can start commands in processes of their own without
// building a program.
func Serve(run func(name string, args []string) int) {
	if name, ok := os.LookupEnv(programVariable); ok {
		os.Exit(run(name, os.Args[1:]))
	}
}

// Program prepares a call of a command in a process of its own: it runs the test's binary, whose
// TestMain calls Serve.
func Program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), "TERM=xterm-256color", programVariable+"="+name)
	return c
}
