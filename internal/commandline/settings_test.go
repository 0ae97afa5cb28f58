package commandline

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/settings"
)

type walk struct {
	Steps int `yaml:"steps" default:"5" min:"1" help:"go <N> steps"`
}

type report struct {
	Out   string `yaml:"out_dir" help:"write to <DIR>"`
	Given settings.Given
}

// TestSeveralSettings: one command has the flags of several structs, and they have their defaults
// again afterwards.
func TestSeveralSettings(t *testing.T) {
	var first walk
	var second report
	var problem error
	c := Command{Name: "tour", Settings: Several{&first, &second}}
	var seen []any
	c.Run = func(context.Context, Output) error {
		seen = []any{first.Steps, second.Out, second.Given}
		return c.OfFlag(problem)
	}
	call := func(args ...string) (int, string) {
		var stderr strings.Builder
		return Execute(context.Background(), c, args, Output{Stdout: io.Discard, Stderr: &stderr}), stderr.String()
	}
	code, stderr := call("-out-dir", "x", "-steps", "7")
	require.Equal(t, ExitOK, code, stderr)
	assert.Equal(t, []any{7, "x", settings.Given{"steps", "out-dir"}}, seen)
	assert.Equal(t, walk{}, first)
	assert.Equal(t, report{}, second)
	_, _ = call()
	assert.Equal(t, 5, seen[0])
	code, stderr = call("-steps", "0")
	assert.Equal(t, ExitUsage, code)
	assert.Equal(t, "error: -steps: want >= 1, got 0 (tour -h lists all flags)\n", stderr)

	for text, want := range map[string]string{
		"out-dir: want a folder": "error: -out-dir: want a folder\n", "steps": "error: -steps\n", "walks: want": "error: walks: want\n",
	} {
		problem = errors.New(text)
		code, stderr = call()
		assert.Equal(t, want, stderr)
		assert.Equal(t, strings.Contains(want, "-"), code == ExitUsage, text)
	}
}
