package gpucheck

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asProgram makes TestIsolated a test program that Isolation runs.
const asProgram = "GPUCHECK_ISOLATED"

// TestIsolated has cases that pass, fail, end their process and hang.
func TestIsolated(t *testing.T) {
	if os.Getenv(asProgram) == "" {
		t.Skip("run by TestIsolation")
	}
	pass := func(*testing.T) {}
	t.Run("first", pass)
	t.Run("wrong", func(t *testing.T) {
		t.Run("fp32", pass)
		t.Run("tf32", func(t *testing.T) { t.Fail() })
		t.Run("bf16", pass)
	})
	t.Run("op", func(t *testing.T) {
		for _, shape := range []string{"1", "2", "3", "4", "5"} {
			t.Run(shape, func(t *testing.T) {
				t.Run("fp32", pass)
				t.Run("bf16", func(t *testing.T) { require.NoError(t, errors.New("a kernel's fault")) })
			})
		}
	})
	t.Run("broken (1, 2)", func(*testing.T) { os.Exit(3) })
	t.Run("hanging", func(*testing.T) { time.Sleep(time.Hour) })
	t.Run("last", pass)
}

// TestIsolation: what fails, ends its process or hangs costs its own case; all others are run,
// once.
func TestIsolation(t *testing.T) {
	t.Setenv(asProgram, "1")
	var out bytes.Buffer
	isolation := Isolation{Program: []string{os.Args[0]}, Tests: "^TestIsolated$", Limit: 500 * time.Millisecond}
	err := isolation.Run(context.Background(), &out)
	require.EqualError(t, err, "6 cases failed, the first TestIsolated/broken_(1,_2)")
	l, ok := readTestLog(strings.Split(out.String(), "\n"))
	require.True(t, ok)
	assert.Equal(t, []string{"TestIsolated/broken_(1,_2)", "TestIsolated/hanging", "TestIsolated/op/1/bf16", "TestIsolated/op/2/bf16", "TestIsolated/op/3/bf16", "TestIsolated/wrong/tf32"}, l.failed())
	assert.Equal(t, "Received unexpected error: a kernel's fault", l.errors["TestIsolated/op/1/bf16"])
	assert.Contains(t, out.String(), "; left out after 3 failed cases alike: the others of ^TestIsolated$/^op$/.*/^bf16$\n")
	for _, name := range []string{"first", "wrong/fp32", "wrong/bf16", "op/4/fp32", "op/5/fp32", "last"} {
		assert.Equal(t, "PASS", l.results["TestIsolated/"+name], name)
		assert.Equal(t, 1, strings.Count(out.String(), "--- PASS: TestIsolated/"+name+" ("), name)
	}
}

// TestIsolationRefuses: a program that runs no test, and one that is not there.
func TestIsolationRefuses(t *testing.T) {
	err := Isolation{Program: []string{"false"}, Tests: "."}.Run(context.Background(), &bytes.Buffer{})
	require.ErrorContains(t, err, "false: no case has run")
	err = Isolation{Program: []string{"./nowhere"}, Tests: "."}.Run(context.Background(), &bytes.Buffer{})
	require.ErrorContains(t, err, "no case has run")
}
