package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// TestPromptFromAFileOrStandardInput: the same text gives the same continuation, wherever
// it is read from; one line break at its end is dropped.
func TestPromptFromAFileOrStandardInput(t *testing.T) {
	run := clitest.Train(t, "train.steps=60")
	args := []string{"-checkpoint", run.Dir, "-tokens", "20", "-temperature", "0", "-threads", "2"}
	want := generated(t, append(args, "-prompt", "line 7\nsays")...)
	assert.NotEqual(t, want, generated(t, append(args, "-prompt", "")...))

	for _, content := range []string{"line 7\nsays", "line 7\nsays\n", "line 7\nsays\r\n"} {
		file := filepath.Join(t.TempDir(), "prompt é.txt")
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		assert.Equal(t, want, generated(t, append(args, "-prompt-file", file)...))
		ok := clitest.Outcome{Stdout: want}
		assert.Equal(t, ok, clitest.Call(generate.Command(models.Standard(), strings.NewReader(content)), args...), "%q", content)
		assert.Equal(t, ok, clitest.Call(generate.Command(models.Standard(), strings.NewReader(content)), append(args, "-prompt-file", "-")...))
	}
	two := generated(t, append(args, "-prompt", "line 7\n", "-tokens", "0")...)
	assert.Equal(t, two, clitest.Call(generate.Command(models.Standard(), strings.NewReader("line 7\n\n")), append(args, "-tokens", "0")...).Stdout, "the first of two line breaks stays")
	assert.Equal(t, want, clitest.Call(generate.Command(models.Standard(), strings.NewReader("other")), append(args, "-prompt", "line 7\nsays")...).Stdout, "-prompt goes before standard input")
}

// TestGenerateSpecial: the name of BOS in a prompt is text and, with -special, BOS.
func TestGenerateSpecial(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-tokens", "0", "-json", "-prompt", "a<|endoftext|>"}
	assert.Contains(t, generated(t, args...), `"prompt_ids":[256,97,60,124,`)
	assert.Contains(t, generated(t, append(args, "-special")...), `"prompt_ids":[256,97,256]`)
}

// failingInput is a standard input that cannot be read.
type failingInput struct{}

func (failingInput) Read([]byte) (int, error) { return 0, errors.New("input/output error") }

func TestPromptThatCannotBeRead(t *testing.T) {
	run := clitest.Train(t)
	clitest.Call(generate.Command(models.Standard(), failingInput{}), "-checkpoint", run.Dir).Refused(t, "standard input: input/output error")
	clitest.Call(generate.Command(models.Standard(), endlessInput{}), "-checkpoint", run.Dir).Refused(t, "standard input: want at most 4 MiB of text, got more")
}

// endlessInput is a standard input without an end.
type endlessInput struct{}

func (endlessInput) Read(p []byte) (int, error) { return len(p), nil }

// TestInterruptWhileWaitingForAPrompt: an interrupt ends the command while standard input
// keeps silent.
func TestInterruptWhileWaitingForAPrompt(t *testing.T) {
	run := clitest.Train(t)
	quiet, _ := io.Pipe()
	generateInterrupted(t, generate.Command(models.Standard(), quiet), "-checkpoint", run.Dir)
}

// generateInterrupted checks that a command which has been interrupted ends.
func generateInterrupted(t *testing.T, c commandline.Command, args ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	assert.Equal(t, clitest.Outcome{Code: commandline.ExitRun, Stderr: "error: generate: interrupted\n"}, clitest.CallWith(ctx, c, args...))
}
