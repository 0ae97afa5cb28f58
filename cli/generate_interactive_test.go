//go:build !windows

package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// TestInteractiveOfAPipe: a text for each line, the first that of the line as a prompt.
func TestInteractiveOfAPipe(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-tokens", "9", "-temperature", "1", "-seed", "3", "-window", "20"}
	command := generate.Command(models.Standard(), strings.NewReader("line 7\nmore than the window has room for\nline 7"))
	got := clitest.Call(command, append(args, "-interactive")...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	first := generated(t, append(args, "-prompt", "line 7")...)
	again, found := strings.CutPrefix(got.Stdout, first)
	require.True(t, found, "%q", got.Stdout)
	assert.True(t, strings.HasPrefix(again, "line 7"))
	assert.NotEqual(t, first, again, "with a seed of its own")
	assert.Equal(t, "warning: prompt: want at most 20 tokens, the model's window, got 34: shorten it, or set slide (-slide), so that the model sees its end alone\n", got.Stderr)
}

// TestInteractiveEmptyLine: an empty line, of which nothing is read without BOS, does not end the
// command.
func TestInteractiveEmptyLine(t *testing.T) {
	run := clitest.Train(t)
	command := generate.Command(models.Standard(), strings.NewReader("line 7\n\nline 8"))
	got := clitest.Call(command, "-checkpoint", run.Dir, "-tokens", "4", "-temperature", "0", "-bos=false", "-interactive")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "\nline 8")
	assert.Equal(t, "warning: -bos: want true, or a text, got neither: nothing is read\n", got.Stderr)
}

// TestInteractiveOnATerminal: Ctrl-C stops a text, at the prompt it begins a new line, Ctrl-D
// ends.
func TestInteractiveOnATerminal(t *testing.T) {
	t.Parallel()
	run := clitest.Train(t)
	const endless = "1000000"
	terminal := clitest.StartTerminal(t, clitest.Program(t, "generate", "-checkpoint", run.Dir, "-interactive", "-tokens", endless, "-logit-bias", "256=-100", "-temperature", "0"), 100, 200)
	shows := func(what, wanted string) {
		terminal.Await(what, func(screen string) bool { return strings.Contains(screen, wanted) })
	}
	awaits := func(what string) {
		terminal.Await(what, func(screen string) bool { return strings.HasSuffix(screen, "\n>") })
	}
	awaits("the first prompt")
	terminal.Type("line 7\n")
	shows("the first text", "> line 7\nline 7")
	terminal.Type("\x03")
	awaits("the second prompt")
	terminal.Type("\x03")
	shows("the third prompt", "\n> ^C\n>")
	terminal.Type("line 7 says\n")
	shows("the second text", "> line 7 says\nline 7 says")
	terminal.Type("\x03")
	awaits("the last prompt")
	terminal.Type("\x04")
	code, screen := terminal.Wait()
	assert.Equal(t, commandline.ExitOK, code, screen)
	assert.True(t, strings.HasPrefix(screen, "note: type a prompt and Enter; Ctrl-C stops a text, Ctrl-D ends\n> line 7\n"), screen)
}
