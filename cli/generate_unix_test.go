//go:build !windows

package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// fifo makes a pipe with a name.
func fifo(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	return name
}

func TestPromptFromANamedPipe(t *testing.T) {
	run := clitest.Train(t)
	name := fifo(t)
	go func() { _ = os.WriteFile(name, []byte("line\n"), 0o600) }()
	args := []string{"-checkpoint", run.Dir, "-tokens", "9", "-prompt-file", name}
	assert.Equal(t, generated(t, "-checkpoint", run.Dir, "-tokens", "9", "-prompt", "line"), generated(t, args...))
}

// TestInterruptWhileANamedPipeHasNoWriter: it ends the command, which waits to open it.
func TestInterruptWhileANamedPipeHasNoWriter(t *testing.T) {
	generateInterrupted(t, silentGenerate(), "-checkpoint", clitest.Train(t).Dir, "-prompt-file", fifo(t))
}

// TestGenerateOnATerminal: standard input is not waited for, and the speed is told at the
// end, which it is nowhere else.
func TestGenerateOnATerminal(t *testing.T) {
	t.Parallel()
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-tokens", "12", "-temperature", "0", "-threads", "1"}
	terminal := clitest.StartTerminal(t, clitest.Program(t, "generate", args...), 100, 30)
	code, screen := terminal.Wait()
	require.Equal(t, commandline.ExitOK, code, screen)
	assert.Regexp(t, `(?m)^note: 12 tokens in \d+\.\d s: \d+\.\d tokens/s$`, screen)

	terminal = clitest.StartTerminal(t, clitest.Program(t, "generate", append(args, "-prompt-file", "/dev/stdin")...), 100, 30)
	terminal.Type("line\n\x04")
	code, screen = terminal.Wait()
	require.Equal(t, commandline.ExitOK, code, screen)
	assert.Contains(t, screen, "\nline")

	terminal = clitest.StartTerminal(t, clitest.Program(t, "generate", append(args, "-tokens", "1000000", "-prompt", "line 7")...), 100, 30)
	terminal.Await("prompt", func(screen string) bool { return len(screen) > len("line 7") })
	terminal.Type("\x03")
	code, screen = terminal.Wait()
	assert.Equal(t, commandline.ExitRun, code)
	assert.Regexp(t, `(?m)^note: \d+ tokens in .*\nerror: \S+ generate: interrupted$`, screen)

	got, err := clitest.Program(t, "generate", args...).CombinedOutput()
	require.NoError(t, err)
	assert.NotContains(t, string(got), "tokens/s")
}
