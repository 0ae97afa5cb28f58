package train

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/config"
	"github.com/residua-go/residua/configs"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

const tinyYAML = `
model: {stream: {kind: vector, d_model: 8}, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 16}, layers: 1, seq: 8}
data: {source: files, split: tail/5}
train: {batch: 2, steps: 6, lr: 1e-2, eval_every: 3, eval_tokens: 64}
sample: {prompt: "a", tokens: 5}
`

// write puts a config and a text into a folder.
func write(t *testing.T, yaml string) (configFile string, dir string) {
	dir = t.TempDir()
	configFile = filepath.Join(dir, "tiny.yaml")
	require.NoError(t, os.WriteFile(configFile, []byte(yaml), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.txt"), []byte(strings.Repeat("some text to learn. ", 50)), 0o644))
	return configFile, dir
}

// execute runs the command in this process.
func execute(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = cli.Execute(context.Background(), Command(models.Standard()), args, cli.Output{Stdout: &out, Stderr: &err})
	return code, out.String(), err.String()
}

func TestTrainEndsWithScoreSampleAndFiles(t *testing.T) {
	file, dir := write(t, tinyYAML)
	out := filepath.Join(dir, "run")
	code, stdout, stderr := execute("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", out)
	require.Equal(t, cli.ExitOK, code, stderr)
	for _, want := range []string{"bits per byte", "sample:\na", "files:", "checkpoints/step-00000006"} {
		require.Contains(t, stdout, want)
	}
	require.Contains(t, stderr, "step 6/6")
	require.Contains(t, stderr, "parameters")
}

func TestTrainJSON(t *testing.T) {
	file, dir := write(t, tinyYAML)
	code, stdout, stderr := execute("-config", file, "-set", "data.path=["+dir+"/text.txt]", "-out", filepath.Join(dir, "run"), "-json")
	require.Equal(t, cli.ExitOK, code, stderr)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	require.Len(t, lines, 7)
	for _, line := range lines {
		require.True(t, json.Valid([]byte(line)), line)
	}
	require.Contains(t, lines[6], `"interrupted":false`)
}

func TestTrainRefuses(t *testing.T) {
	file, dir := write(t, tinyYAML)
	text := "data.path=[" + dir + "/text.txt]"
	done := filepath.Join(dir, "done")
	code, _, stderr := execute("-config", file, "-set", text, "-out", done)
	require.Equal(t, cli.ExitOK, code, stderr)
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
		"bad resume":       {[]string{"-config", file, "-set", text, "-out", dir + "/new", "-resume", "yes"}, []string{"-resume", "auto"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, stderr := execute(c.args...)
			require.Equal(t, cli.ExitUsage, code, stderr)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			for _, want := range c.want {
				require.Contains(t, stderr, want)
			}
		})
	}
}

// TestShippedConfigs loads every config of the project. Those of a subfolder are runs of an experiment.
func TestShippedConfigs(t *testing.T) {
	require.GreaterOrEqual(t, len(configs.Names()), 10)
	for _, name := range configs.Names() {
		run, _, err := config.Load(models.Standard(), name, nil)
		require.NoError(t, err, name)
		if strings.Contains(name, "/") {
			continue
		}
		require.Contains(t, []string{name, "quickstart-" + name}, run.Model.Preset, "a config is named for its preset")
	}
}

func TestHelpShowsAnExampleFirst(t *testing.T) {
	code, stdout, _ := execute("-h")
	require.Equal(t, cli.ExitOK, code)
	require.True(t, strings.HasPrefix(stdout, "Example:\n  go run ./cmd/train -config"), stdout)
}

// TestTrainSaysThatItDiverged: a loss far above that of guessing is said in the last line, with how
// to go on, and is valid JSON.
func TestTrainSaysThatItDiverged(t *testing.T) {
	file, dir := write(t, tinyYAML)
	out := filepath.Join(dir, "run")
	args := []string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]", "-set", "train.clip=0"}
	last := func(stdout string) string {
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		return lines[len(lines)-1]
	}
	code, stdout, stderr := execute(append(args, "-out", out)...)
	require.Equal(t, cli.ExitOK, code, stderr)
	require.NotContains(t, stdout, "diverged")

	code, stdout, stderr = execute(append(args, "-out", filepath.Join(dir, "hot"), "-set", "train.lr=300")...)
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stdout, "perplexity +Inf")
	require.Regexp(t, `^diverged: the validation loss is [\d.e+]+, that of guessing 5\.54\d; train again with a lower rate \(-set train\.lr=1e\+02 -out .*hot-2\) or a longer train\.warmup$`, last(stdout))

	code, stdout, stderr = execute(append(args, "-out", out, "-resume", "auto", "-set", "train.steps=12", "-set", "train.lr=300")...)
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Regexp(t, `, or from the best checkpoint, of validation loss [1-5]\.\d+ \(add -set train\.init_from=.*step-00000006\)$`, last(stdout))

	code, stdout, stderr = execute(append(args, "-out", filepath.Join(dir, "json"), "-set", "train.lr=300", "-json")...)
	require.Equal(t, cli.ExitOK, code, stderr)
	var result struct {
		Diverged   bool
		Validation map[string]*float64
	}
	require.NoError(t, json.Unmarshal([]byte(last(stdout)), &result))
	require.True(t, result.Diverged)
	require.Contains(t, result.Validation, "perplexity")
	require.Nil(t, result.Validation["perplexity"], "infinite")
}

// TestTrainForksAndWarns: another run's checkpoint is for -fork alone; with -json, warnings reach
// standard error and a finished run tells its score again.
func TestTrainForksAndWarns(t *testing.T) {
	file, dir := write(t, tinyYAML)
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	call := func(args ...string) (int, string, string) {
		return execute(append([]string{"-config", file, "-set", "data.path=[" + dir + "/text.txt]"}, args...)...)
	}
	code, _, stderr := call("-out", a)
	require.Equal(t, cli.ExitOK, code, stderr)
	code, _, stderr = call("-out", b, "-resume", a)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, stderr, "-fork")
	code, _, stderr = call("-out", b, "-fork", a, "-set", "train.steps=9")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.DirExists(t, filepath.Join(b, "checkpoints", "step-00000009"))

	code, stdout, stderr := call("-out", a, "-resume", "auto", "-json")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Regexp(t, `"validation":\{"tokens":\d+,"loss":\d`, stdout)
	require.NoError(t, os.WriteFile(filepath.Join(a, "checkpoints", "step-00000006", "model.safetensors"), []byte("damaged"), 0o644))
	code, stdout, stderr = call("-out", a, "-resume", "auto", "-json")
	require.Equal(t, cli.ExitOK, code, stderr)
	require.Contains(t, stderr, "warning: ")
	require.Contains(t, stderr, "using the checkpoint of step 3")
	require.NotContains(t, stdout, "warning")
}
