package cli

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/internal/longtest"
)

// killsVariable is the environment variable with the seed and the number of kills, as in 7:500.
const killsVariable = "RESIDUA_KILLS"

// killYAML is a run of about a second.
const killYAML = `
seed: 3
model: {stream: {kind: matrix, dk: 8, dv: 8, rank: 4}, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 64}, layers: 2, seq: 32, init: lecun}
data: {source: files, path: [text.txt], split: tail/5}
train: {batch: 8, accumulate: 2, steps: 150, lr: 1e-2, eval_every: 40, checkpoint_every: 7, eval_tokens: 512, keep_log: true}
sample: {tokens: 0}
device: {threads: 1}
`

const killExperimentYAML = `
base: kill.yaml
set: [train.steps=20]
series: [{name: slow, set: [train.lr=1e-3]}, {name: fast}]
experiment: {kind: sweep, key: train.beta1, values: [0.8, 0.9]}
`

// killed is a command that is killed while it writes the folder or file out, and called again.
type killed struct {
	name  string
	args  []string // START is the folder that begin has made
	again []string // arguments of the second call in addition
	out   string
	left  *regexp.Regexp // names of files that must be the same whatever happens; nil: all
}

func killedCommands() []killed {
	train := func(name string, sets ...string) killed {
		args := []string{"train", "-config", "kill.yaml", "-out", "out"}
		for _, s := range sets {
			args = append(args, "-set", s)
		}
		return killed{name, args, []string{"-resume", "auto"}, "out", regexp.MustCompile(`^(metrics.jsonl|best.json|loss.svg|checkpoints/.*\.safetensors)$`)}
	}
	return []killed{
		train("train"),
		train("train, Muon, bf16", "train.optim={kind: muon}", "device.precision=bf16"),
		train("train, adapters", "train.init_from=START/model", "train.lora={rank: 2, alpha: 4, targets: [w1, w2]}"),
		{"prepare", []string{"prepare", "-tokenizer", "train:300", "-split", "hash/4", "-save-every", "1ms", "-out", "out", "texts"}, nil, "out", nil},
		{"experiment", []string{"experiment", "-out", "out", "experiment.yaml"}, nil, "out", regexp.MustCompile(`/model.safetensors$`)},
		{"convert", []string{"convert", "-checkpoint", "model", "-format", "residua", "-replace", "-out", "out"}, nil, "out", nil},
		{"serve", []string{"serve", "-checkpoint", "model", "-listen", "127.0.0.1:0"}, nil, "model", nil},
	}
}

// TestKills kills commands with SIGKILL at random moments and calls them again: what they leave is
// the same as without the kill. After a failure the folder at the kill is kept.
func TestKills(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("trains in many processes")
	}
	commands := killedCommands()
	seed, kills := uint64(time.Now().UnixNano()), 1 // any moment will do
	if longtest.Enabled() {
		kills = len(commands)
	}
	if text := os.Getenv(killsVariable); text != "" {
		_, err := fmt.Sscanf(text, "%d:%d", &seed, &kills)
		require.NoError(t, err, "%s: want SEED:KILLS, got %q", killsVariable, text)
	}
	for i, k := range commands[:min(kills, len(commands))] {
		t.Run(k.name, func(t *testing.T) {
			n := (kills + len(commands) - 1 - i) / len(commands)
			k.test(t, n, rand.New(rand.NewPCG(seed, uint64(i))))
			t.Logf("robustness|%s|kill -9|%d", k.name, n)
		})
	}
}

// test kills the command a number of times.
func (k killed) test(t *testing.T, kills int, draw *rand.Rand) {
	start := filepath.Join(t.TempDir(), "start")
	for i, a := range k.args {
		k.args[i] = strings.Replace(a, "START", start, 1)
	}
	k.begin(t, start)
	whole := copied(t, start)
	began := time.Now()
	k.finish(t, whole, nil)
	length := time.Since(began)
	want := k.leaves(t, whole)
	require.NotEmpty(t, want)
	for range kills {
		dir := copied(t, start)
		delay := time.Duration(draw.Float64() * float64(length))
		c := k.command(t, dir, nil)
		require.NoError(t, c.Start())
		time.Sleep(delay)
		_ = c.Process.Kill()
		_ = c.Wait()
		kept := copied(t, dir)
		k.finish(t, dir, k.again)
		got := k.leaves(t, dir)
		same := len(want) == len(got)
		for name := range want {
			same = same && want[name] == got[name]
		}
		if !same {
			keep, err := os.MkdirTemp("", "residua-kill-")
			require.NoError(t, err)
			require.NoError(t, os.CopyFS(keep, os.DirFS(kept)))
			journal := fmt.Sprintf("%s\nkilled after %v; in this folder go on with: residua %q\n", c.Args[1:], delay, append(k.args, k.again...))
			require.NoError(t, os.WriteFile(filepath.Join(keep, "journal.txt"), []byte(journal), 0o666))
			require.Equal(t, want, got, "killed after %v; the folder at the kill is %s", delay, keep)
		}
		require.NoError(t, os.RemoveAll(dir))
		require.NoError(t, os.RemoveAll(kept))
	}
}

// begin makes the folder that the command is called in: texts, configs and a trained model.
func (k killed) begin(t *testing.T, dir string) {
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "texts"), 0o777))
	var text strings.Builder
	for i := range 900 {
		fmt.Fprintf(&text, "%d squared is %d\n", i, i*i)
		name := filepath.Join(dir, "texts", fmt.Sprintf("%d.txt", i%150))
		require.NoError(t, os.WriteFile(name, []byte(strings.Repeat(text.String()[max(0, text.Len()-500):], 4)), 0o666))
	}
	for name, content := range map[string]string{"text.txt": text.String(), "kill.yaml": killYAML, "experiment.yaml": killExperimentYAML} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666))
	}
	for _, a := range k.args {
		if a == "model" || strings.HasSuffix(a, "/model") {
			c := clitest.Program(t, "train", "-config", "kill.yaml", "-out", "model", "-set", "train.steps=5")
			c.Dir = dir
			out, err := c.CombinedOutput()
			require.NoError(t, err, string(out))
			require.NoError(t, os.Remove(filepath.Join(dir, "model", checkpoint.LockName)))
		}
	}
}

func (k killed) command(t *testing.T, dir string, more []string) *exec.Cmd {
	c := clitest.Program(t, k.args[0], append(append([]string(nil), k.args[1:]...), more...)...)
	c.Dir = dir
	return c
}

// finish calls the command until it is done; a server is done when it has answered.
func (k killed) finish(t *testing.T, dir string, more []string) {
	c := k.command(t, dir, more)
	if k.name != "serve" {
		out, err := c.CombinedOutput()
		finished := strings.Contains(string(out), "want a folder without shards, it holds meta.json") // prepare was done
		require.True(t, err == nil || finished, "%v: %s", err, out)
		return
	}
	out, err := c.StderrPipe()
	require.NoError(t, err)
	c.Stdout = c.Stderr
	require.NoError(t, c.Start())
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if found := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); found != "" {
			address = found
		}
	}
	require.NotEmpty(t, address)
	r, err := http.Post(address+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "3 ", "max_tokens": 8, "temperature": 0}`))
	require.NoError(t, err)
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	text := regexp.MustCompile(`"text": ?"[^"]*"`).FindString(string(body))
	require.NotEmpty(t, text, string(body))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model", "answer.txt"), []byte(text), 0o666))
}

var killTimes = regexp.MustCompile(`"(tokens_per_s|flops_per_s|seconds)":[^,}]*`)

// leaves returns the files that must not depend on a kill. A finished preparation may have left its
// state.
func (k killed) leaves(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	out := filepath.Join(dir, k.out)
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		return map[string]string{"out": string(text)}
	}
	for name, text := range crash.Contents(t, out) {
		if k.left == nil && !strings.HasPrefix(filepath.Base(name), ".") || k.left != nil && k.left.MatchString(name) {
			all[name] = killTimes.ReplaceAllString(text, "")
		}
	}
	return all
}

func copied(t *testing.T, dir string) string {
	to := filepath.Join(t.TempDir(), fmt.Sprint(time.Now().UnixNano()))
	require.NoError(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}
