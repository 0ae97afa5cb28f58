package train

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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
	"github.com/residua-go/residua/internal/longtest"
)

// killYAML is a run of about a second.
const killYAML = `
seed: 3
model: {stream: {kind: matrix, dk: 8, dv: 8, rank: 4}, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 64}, layers: 2, seq: 32, init: lecun}
data: {source: files, path: [text.txt], split: tail/5}
train: {batch: 8, accumulate: 2, steps: 300, lr: 1e-2, eval_every: 40, checkpoint_every: 7, eval_tokens: 512, keep_log: true}
sample: {tokens: 0}
`

// TestKilledRunsResume kills a process with SIGKILL at random moments and resumes: the same
// losses, the same last checkpoint, bit for bit.
func TestKilledRunsResume(t *testing.T) {
	if testing.Short() {
		t.Skip("trains in many processes")
	}
	kills := 1
	switch {
	case longtest.Exhaustive():
		kills = 8
	case longtest.Enabled():
		kills = 3
	}
	dir := t.TempDir()
	start := killable(t, dir)
	began := time.Now()
	out, err := start("whole", "none").CombinedOutput()
	require.NoError(t, err, string(out))
	length := time.Since(began)
	want := fingerprint(t, filepath.Join(dir, "whole"))

	draw := rand.New(rand.NewPCG(uint64(began.UnixNano()), 0)) // any moment will do
	for i := range kills {
		folder := fmt.Sprintf("killed%d", i)
		delay := time.Duration(draw.Float64() * float64(length))
		c := start(folder, "none")
		require.NoError(t, c.Start())
		time.Sleep(delay)
		_ = c.Process.Kill()
		_ = c.Wait()
		out, err := start(folder, "auto").CombinedOutput()
		require.NoError(t, err, "killed after %v: %s", delay, out)
		require.Equal(t, want, fingerprint(t, filepath.Join(dir, folder)), "killed after %v", delay)
	}
}

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

// TestSignalsSave: SIGINT, SIGTERM, and SIGHUP as often as it comes, save and exit 0.
func TestSignalsSave(t *testing.T) {
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
	require.Equal(t, "error: train: interrupted", lines.Text())
	require.Error(t, c.Wait(), "exit code 1")
	require.Equal(t, commandline.ExitRun, c.ProcessState.ExitCode())
	require.Less(t, time.Since(began), 5*time.Second)
	require.NoDirExists(t, filepath.Join(dir, "deep"))
}

// fingerprint is everything of a run that must not depend on when it was interrupted.
func fingerprint(t *testing.T, run string) map[string]string {
	print := map[string]string{}
	metrics, err := os.ReadFile(filepath.Join(run, "metrics.jsonl"))
	require.NoError(t, err)
	for _, line := range strings.Split(strings.TrimSpace(string(metrics)), "\n") {
		var m map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		print[fmt.Sprint("step ", m["step"])] = fmt.Sprint(m["tokens"], m["loss"], m["lr"], m["grad_norm"], m["val_loss"], m["val_bits_per_byte"])
	}
	step := filepath.Join(run, "checkpoints", "step-00000300")
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		data, err := os.ReadFile(filepath.Join(step, name))
		require.NoError(t, err)
		print[name] = string(data)
	}
	kept, err := checkpoint.LogSteps(run)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300}, kept)
	for _, at := range kept {
		data, err := os.ReadFile(filepath.Join(checkpoint.LogPath(run, at), "model.safetensors"))
		require.NoError(t, err)
		print[fmt.Sprint("weights at ", at)] = string(data)
	}
	state, err := checkpoint.ReadState(step)
	require.NoError(t, err)
	require.Contains(t, string(state.Extra["metrics"]), `"step":300,`)
	state.Run, state.GoodStep = "", nil // what a run has for itself, and when it saved
	delete(state.Extra, "metrics")      // has times; the line was compared above
	text, err := json.Marshal(state)
	require.NoError(t, err)
	print["state"] = string(text)
	_, loss, err := checkpoint.Best(run)
	require.NoError(t, err)
	print["best"] = fmt.Sprint(loss)
	return print
}
