package cli

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// killable writes a run's text and config; the function it returns makes a call that trains it.
func killable(t *testing.T, dir string) func(folder, resume string) *exec.Cmd {
	var text strings.Builder
	for i := range 900 {
		fmt.Fprintf(&text, "%d squared is %d\n", i, i*i)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.txt"), []byte(text.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kill.yaml"), []byte(killYAML), 0o644))
	return func(folder, resume string) *exec.Cmd {
		c := clitest.Program(t, "train", "-config", "kill.yaml", "-out", folder, "-resume", resume)
		c.Dir = dir
		return c
	}
}

// TestTrainSignalsSave: SIGINT, SIGTERM, and SIGHUP as often as it comes, save and exit 0.
func TestTrainSignalsSave(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("sends unix signals")
	}
	dir := t.TempDir()
	start := killable(t, dir)
	all := [][]os.Signal{{os.Interrupt}, {syscall.SIGTERM}}
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup, which the program inherits
		all = append(all, []os.Signal{syscall.SIGHUP, syscall.SIGHUP})
	}
	for i, signals := range all {
		folder := fmt.Sprintf("run%d", i)
		c := start(folder, "none")
		c.Args = append(c.Args, "-set", "train.steps=1000000") // it does not end by itself
		require.NoError(t, c.Start())
		saved := filepath.Join(dir, folder, "latest.json")
		require.Eventually(t, func() bool { _, err := os.Stat(saved); return err == nil }, time.Minute, time.Millisecond)
		for _, s := range signals {
			require.NoError(t, c.Process.Signal(s))
		}
		require.NoError(t, c.Wait(), "exit code 0")
		latest, _, err := checkpoint.Latest(filepath.Join(dir, folder))
		require.NoError(t, err)
		state, err := checkpoint.ReadState(latest)
		require.NoError(t, err)
		c = start(folder, "auto")
		c.Args = append(c.Args, "-set", fmt.Sprintf("train.steps=%d", state.Step+5))
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
	}
}

// TestASignalEndsCompiling: a model whose graph takes a minute to compile is given up at once, and
// leaves nothing.
func TestASignalEndsCompiling(t *testing.T) {
	if testing.Short() || runtime.GOOS == "windows" {
		t.Skip("sends unix signals")
	}
	dir := t.TempDir()
	c := killable(t, dir)("deep", "none")
	c.Args = append(c.Args, "-set", "model.layers=4096", "-set", "model.stream={kind: matrix, dk: 2, dv: 2, rank: 1}", "-set", "model.feedforward.hidden=2")
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(stderr)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "compiling 4096 layers")
	time.Sleep(100 * time.Millisecond)
	began := time.Now()
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.True(t, lines.Scan())
	require.Regexp(t, `^error: \S+ train: interrupted$`, lines.Text())
	require.Error(t, c.Wait(), "exit code 1")
	require.Equal(t, commandline.ExitRun, c.ProcessState.ExitCode())
	require.Less(t, time.Since(began), 5*time.Second)
	require.NoDirExists(t, filepath.Join(dir, "deep"))
}
