package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/train"
	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

const tinyTrainYAML = `
model: {stream: {kind: vector, d_model: 8}, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 16}, layers: 1, seq: 8}
data: {source: files, split: tail/5}
train: {batch: 2, steps: 6, lr: 1e-2, eval_every: 3, eval_tokens: 64}
sample: {prompt: "a", tokens: 5}
`

// writeRun puts a config and a text into a folder.
func writeRun(t *testing.T, yaml string) (configFile string, dir string) {
	dir = t.TempDir()
	configFile = filepath.Join(dir, "tiny.yaml")
	require.NoError(t, os.WriteFile(configFile, []byte(yaml), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.txt"), []byte(strings.Repeat("some text to learn. ", 50)), 0o644))
	return configFile, dir
}

// runTrain runs the command train in this process, as a program of its own.
func runTrain(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = commandline.Execute(context.Background(), train.Command(models.Standard()), args, commandline.Output{Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

func TestTrainEndsWithScoreSampleAndFiles(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	out := filepath.Join(dir, "run")
	code, stdout, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", out)
	require.Equal(t, commandline.ExitOK, code, stderr)
	for _, want := range []string{"bits per byte", "sample:\na", "files:", "checkpoints/step-00000006"} {
		require.Contains(t, stdout, want)
	}
	require.Contains(t, stderr, "step 6/6")
	require.Contains(t, stderr, "parameters")
}

func TestTrainJSON(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	code, stdout, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", filepath.Join(dir, "run"), "-json")
	require.Equal(t, commandline.ExitOK, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 7)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, lines[6], `"interrupted":false`)
}

func TestTrainRefuses(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	text := "data.path=[" + dir + "/text.txt]"
	done := filepath.Join(dir, "done")
	code, _, stderr := runTrain("-config", file, "-set", text, "-out", done)
	require.Equal(t, commandline.ExitOK, code, stderr)
	blocker := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(blocker, nil, 0o644))
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no config":        {nil, []string{"-config: want a YAML file"}},
		"missing file":     {[]string{"-config", dir + "/none.yaml"}, []string{"none.yaml"}},
		"no such config":   {[]string{"-config", "quikstart"}, []string{"quikstart", "did you mean quickstart?", "train -configs"}},
		"markdown alone":   {[]string{"-markdown"}, []string{"-markdown: want -keys"}},
		"unknown flag":     {[]string{"-confg", file}, []string{"-config"}},
		"stray argument":   {[]string{"-config", file, "more"}, []string{"more"}},
		"unknown key":      {[]string{"-config", file, "-set", "train.setps=3"}, []string{"-set", "train.setps", `"steps"`}},
		"rank 0":           {[]string{"-config", file, "-set", "model.stream={kind: matrix, dk: 2, dv: 2}", "-set", "model.attention.heads=0"}, []string{"model.stream.rank: want >= 1, got 0"}},
		"heads":            {[]string{"-config", file, "-set", "model.attention.heads=3"}, []string{"model.attention.heads", "divisor of d_model 8, got 3"}},
		"seq 0":            {[]string{"-config", file, "-set", "model.seq=0"}, []string{"model.seq: want >= 1, got 0"}},
		"no data":          {[]string{"-config", file}, []string{"data.path"}},
		"missing data":     {[]string{"-config", file, "-set", "data.path=[" + dir + "/no.txt]"}, []string{"no.txt"}},
		"empty data":       {[]string{"-config", file, "-set", "data.path=[" + blocker + "]"}, []string{"file"}},
		"corpus too short": {[]string{"-config", file, "-set", text, "-set", "model.seq=900", "-set", "train.eval_tokens=0"}, []string{"want at least 1801 tokens"}},
		"second run":       {[]string{"-config", file, "-set", text, "-out", done}, []string{"already holds a run", "-resume auto", "-out"}},
		"not a folder":     {[]string{"-config", file, "-set", text, "-out", blocker + "/run"}, []string{"out:"}},
		"rate":             {[]string{"-config", file, "-set", text, "-set", "train.lr=11"}, []string{"train.lr: want <= 10, got 11"}},
		"bad resume":       {[]string{"-config", file, "-set", text, "-out", dir + "/new", "-resume", "yes"}, []string{"-resume", "auto"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := runTrain(c.args...)
			require.Equal(t, commandline.ExitUsage, code, stderr)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			for _, want := range c.want {
				require.Contains(t, stderr, want)
			}
			require.NoDirExists(t, filepath.Join(dir, "new"), "what is refused leaves nothing")
		})
	}
}

// TestShippedConfigs loads every config of the project. Those of a subfolder are runs of an
// experiment.
func TestShippedConfigs(t *testing.T) {
	require.GreaterOrEqual(t, len(configs.Names()), 10)
	for _, name := range configs.Names() {
		run, _, err := runconfig.Load(models.Standard(), name, nil)
		require.NoError(t, err, name)
		if strings.Contains(name, "/") {
			continue
		}
		preset := strings.TrimSuffix(strings.Replace(name, "pilot", "quickstart", 1), "-small") // which the pilots train at other rates, and small ones cut
		require.Contains(t, []string{preset, "quickstart-" + preset}, run.Model.Preset, "a config is named for its preset")
	}
}

func TestTrainHelpShowsAnExampleFirst(t *testing.T) {
	code, stdout, _ := runTrain("-h")
	require.Equal(t, commandline.ExitOK, code)
	require.True(t, strings.HasPrefix(stdout, "Example:\n  train -config"), stdout)
}

// TestTrainSaysThatItDiverged: a loss far above that of guessing is the error, which says how to go
// on; the result is valid JSON. What it advises is a call that works.
func TestTrainSaysThatItDiverged(t *testing.T) {
	longtest.Skip(t)
	file, dir := writeRun(t, tinyTrainYAML)
	out := filepath.Join(dir, "run")
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-set", "train.clip=0"}
	code, stdout, stderr := runTrain(append(args, "-out", out)...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.NotContains(t, stdout+stderr, "diverged")

	hot := append(args, "-set", "train.weight_decay=0", "-set", "train.steps=60", "-set", "train.lr=10")
	code, stdout, stderr = runTrain(append(hot, "-set", "train.min_lr=5", "-set", "train.optim={kind: muon, lr: 9}", "-out", filepath.Join(dir, "hot"))...)
	require.Equal(t, commandline.ExitRun, code, stderr)
	require.Contains(t, stdout, "files:")
	require.NotContains(t, stdout, "sample:")
	advice := regexp.MustCompile(`^error: diverged: the loss at the end is \S+, that of guessing 5\.549; train again with a lower rate \((.*-out .*hot-2)\) or a longer train\.warmup$`).FindStringSubmatch(lastLine(stderr))
	require.Len(t, advice, 2, stderr)
	require.Equal(t, "-set train.lr=3.3 -set train.min_lr=0.33 -set train.optim.lr=3 -out "+filepath.Join(dir, "hot-2"), advice[1])
	code, _, stderr = runTrain(append(append(hot, "-set", "train.min_lr=5", "-set", "train.optim={kind: muon, lr: 9}"), strings.Fields(advice[1])...)...)
	require.NotEqual(t, commandline.ExitUsage, code, stderr)

	code, _, stderr = runTrain(append(hot, "-out", out, "-resume", "auto")...)
	require.Equal(t, commandline.ExitRun, code, stderr)
	require.Regexp(t, `, or from the best checkpoint, of validation loss [1-5]\.\d+ \(add -set train\.init_from=.*step-00000006\)$`, lastLine(stderr))

	code, stdout, stderr = runTrain(append(hot, "-out", filepath.Join(dir, "json"), "-json", "-set", "model.stream.d_model=256")...)
	require.Equal(t, commandline.ExitRun, code, stderr)
	var result struct {
		Diverged, Collapsed bool
		Validation          map[string]*float64
	}
	require.NoError(t, json.Unmarshal([]byte(lastLine(stdout)), &result))
	require.True(t, result.Diverged)
	require.False(t, result.Collapsed)
	require.Contains(t, result.Validation, "perplexity")
	require.Nil(t, result.Validation["perplexity"], "infinite")

	code, _, stderr = runTrain(append(hot, "-out", filepath.Join(dir, "unscored"), "-set", "data.split=none", "-set", "train.eval_every=0")...)
	require.Equal(t, commandline.ExitRun, code, stderr)
	require.Contains(t, lastLine(stderr), "error: diverged: ", "the last step's loss tells it, too")
}

// lastLine is the last line of an output.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TestTrainSaysThatItCollapsed: weights so large that norms overflow make features of 0, so that
// each token is as likely as any other, whatever comes.
func TestTrainSaysThatItCollapsed(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-set", "train.lr=10", "-set", "train.weight_decay=100"}
	code, stdout, stderr := runTrain(append(args, "-out", filepath.Join(dir, "run"))...)
	require.Equal(t, commandline.ExitRun, code, stderr)
	require.Contains(t, stdout, "validation: 8.0056 bits per byte")
	require.NotContains(t, stdout, "sample:")
	require.Regexp(t, `^error: collapsed: the loss at the end is 5\.549, that of guessing 5\.549, and the gradient is 0: nothing is learned any more; train again with a lower rate \(-set train\.lr=3\.3 -out .*run-2\) or a longer train\.warmup$`, lastLine(stderr))
	code, stdout, stderr = runTrain(append(args, "-out", filepath.Join(dir, "json"), "-json")...)
	require.Equal(t, commandline.ExitRun, code, stderr)
	require.Contains(t, lastLine(stdout), `"diverged":false,"collapsed":true`)
}

// TestTrainNamesIdleBlocks: of a model that has learned, and of one that writes nothing as its rate
// is too low to leave a start at which the stream is next to nothing.
func TestTrainNamesIdleBlocks(t *testing.T) {
	longtest.Skip(t)
	file, dir := writeRun(t, tinyTrainYAML)
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-set", "train.steps=150"}
	code, stdout, stderr := runTrain(append(args, "-set", "train.lr=2e-2", "-out", filepath.Join(dir, "learned"))...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.NotContains(t, stdout, "without blocks.0 the")
	args = append(args, "-set", "train.lr=1e-9", "-set", "model.init_std=1e-6")
	code, stdout, stderr = runTrain(append(args, "-out", filepath.Join(dir, "idle"))...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stdout, "\nidle: without blocks.0 the loss rises by less than 0.005 nats each: a lower train.lr, or more steps, may put them to use\nfiles:")
	code, stdout, stderr = runTrain(append(args, "-out", filepath.Join(dir, "json"), "-json")...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, lastLine(stdout), `"idle":["blocks.0"]`)
}

// TestASampleThatEndsAtOnceSaysSo: a text of many empty documents teaches the model to write
// nothing.
func TestASampleThatEndsAtOnceSaysSo(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty.jsonl"), []byte(strings.Repeat("{\"text\": \"a\"}\n", 2000)), 0o644))
	code, stdout, stderr := runTrain("-config", file, "-set", "data.path=["+dir+"/empty.jsonl]", "-out", filepath.Join(dir, "run"), "-set", "train.steps=60", "-set", "sample.temperature=0")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stdout, "sample:\na\nfiles:")
	require.Contains(t, stderr, "note: the sample ends there: the model ended the document after 0 of 5 tokens\n")
}

// TestTrainForksAndWarns: another run's checkpoint is for -fork alone; with -json, warnings reach
// standard error and a finished run tells its score again.
func TestTrainForksAndWarns(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	call := func(args ...string) (int, string, string) {
		return runTrain(append([]string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]"}, args...)...)
	}
	code, _, stderr := call("-out", a, "-resume", "auto")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.True(t, strings.HasPrefix(stderr, a+" has no checkpoint to resume from: the run starts anew\n"), stderr)
	code, _, stderr = call("-out", b, "-resume", a)
	require.Equal(t, commandline.ExitUsage, code)
	require.Contains(t, stderr, "-fork")
	require.NoDirExists(t, b, "what is refused leaves nothing")
	code, _, stderr = call("-out", b, "-fork", a, "-set", "train.steps=9")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.DirExists(t, filepath.Join(b, "checkpoints", "step-00000009"))

	code, stdout, stderr := call("-out", a, "-resume", "auto", "-json")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Regexp(t, `"validation":\{"tokens":\d+,"loss":\d`, stdout)
	require.NoError(t, os.WriteFile(filepath.Join(a, "checkpoints", "step-00000006", "model.safetensors"), []byte("damaged"), 0o644))
	code, stdout, stderr = call("-out", a, "-resume", "auto", "-json")
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stderr, "warning: ")
	require.Contains(t, stderr, "using the checkpoint of step 3")
	require.NotContains(t, stdout, "warning")
}

// TestDryRunSaysWhatARunTakes and leaves nothing.
func TestDryRunSaysWhatARunTakes(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-set", "train.steps=150", "-out", filepath.Join(dir, "run"), "-dry-run"}
	code, stdout, stderr := runTrain(args...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Regexp(t, `^150 steps, \S+ [MG]FLOP, about \S+ (s|min) on this machine\n$`, stdout)
	require.NotContains(t, stderr, "keep_log")
	code, _, stderr = runTrain(append(args, "-set", "train.keep_log=true")...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Regexp(t, `(?m)^train\.keep_log: the weights of 10 steps are kept, about \d+ KB on disk$`, stderr) // 0, 1, 2, ... 128, 150
	require.NoDirExists(t, filepath.Join(dir, "run"))
	code, _, stderr = runTrain(append(args, "-resume", "auto")...)
	require.Equal(t, commandline.ExitUsage, code)
	require.Contains(t, stderr, "-dry-run: want neither -resume nor -fork with it")
	code, stdout, stderr = runTrain(append(args, "-json")...)
	require.Equal(t, commandline.ExitUsage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "-json: want it without -dry-run")
}

// TestTheEndSaysWhyARunStopped: a limit of train.stop, spikes, a loss that never fell.
func TestTheEndSaysWhyARunStopped(t *testing.T) {
	file, dir := writeRun(t, tinyTrainYAML)
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-set", "sample.tokens=0"}
	code, stdout, stderr := runTrain(append(args, "-set", "train.steps=50", "-set", "train.stop.tokens=1", "-out", filepath.Join(dir, "a"))...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stdout, "stopped after step 1 of 50 by train.stop.tokens\n")
	code, stdout, stderr = runTrain(append(args, "-set", "train.steps=110", "-set", "train.lr=1e-9", "-set", "train.eval_every=0", "-out", filepath.Join(dir, "b"))...)
	require.Equal(t, commandline.ExitOK, code, stderr)
	require.Contains(t, stdout, "trained 110 steps; at the end nothing was learned: the loss was no better than that of guessing\n")
}
