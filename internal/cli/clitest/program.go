package clitest

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// programVariable is set in processes of a test's own program, to the name of the command that they run.
const programVariable = "RESIDUA_TEST_PROGRAM"

// Serve runs a command in the place of the tests, in a process that Program made, and does not return there. A package's
// TestMain calls it first, so that tests start commands in processes of their own and no program is built for them.
func Serve(run func(name string, args []string) int) {
	if name, ok := os.LookupEnv(programVariable); ok {
		os.Exit(run(name, os.Args[1:]))
	}
}

// Program is a call of a command by name, in a process of its own: the test's program, whose TestMain calls Serve.
func Program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), "TERM=xterm-256color", programVariable+"="+name)
	return c
}
