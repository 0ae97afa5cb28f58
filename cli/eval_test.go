package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// callEval calls eval.
func callEval(args ...string) clitest.Outcome { return call(append([]string{"eval"}, args...)...) }

// evalOnOneThread computes as the runs were computed.
func evalOnOneThread(args ...string) clitest.Outcome {
	return callEval(append(args, "-threads", "1")...)
}

func scoreOf(t *testing.T, o clitest.Outcome) (score eval.Score) {
	require.Equal(t, commandline.ExitOK, o.Code, o.Stderr)
	assert.Empty(t, o.Stderr)
	require.NoError(t, json.Unmarshal([]byte(o.Stdout), &score), o.Stdout)
	return score
}

func TestEvalOfARun(t *testing.T) {
	run := clitest.Train(t)
	for _, path := range []string{run.Dir, run.Step, run.Model} {
		got := evalOnOneThread("-checkpoint", path, "-json")
		assert.Equal(t, *run.Result.Final, scoreOf(t, got), path)
		assert.Equal(t, 1, strings.Count(got.Stdout, "\n"))
		var keys map[string]float64
		require.NoError(t, json.Unmarshal([]byte(got.Stdout), &keys))
		assert.Len(t, keys, 7)
		for _, key := range []string{"tokens", "loss", "perplexity", "bits_per_byte", "loss_stderr", "perplexity_stderr", "bits_per_byte_stderr"} {
			assert.Positive(t, keys[key], key)
		}
	}
	plain := evalOnOneThread("-checkpoint", run.Dir)
	assert.Equal(t, commandline.ExitOK, plain.Code)
	assert.Equal(t, fmt.Sprintf("tokens         192\nloss           %.6f ± S\nperplexity     %.4f ± S\nbits per byte  %.6f ± S\n",
		run.Result.Final.Loss, run.Result.Final.Perplexity, run.Result.Final.BitsPerByte), regexp.MustCompile(`± 0\.0?\d\d?\d?\n`).ReplaceAllString(plain.Stdout, "± S\n"))
	assert.Equal(t, plain.Stdout, evalOnOneThread("-checkpoint", run.Dir).Stdout, "the resamples are seeded")
	assert.Equal(t, 50, scoreOf(t, evalOnOneThread("-checkpoint", run.Dir, "-tokens", "50", "-json")).Tokens)
}

func TestEvalOfText(t *testing.T) {
	run := clitest.Train(t)
	text := filepath.Join(t.TempDir(), "t.txt")
	require.NoError(t, os.WriteFile(text, []byte("line 1 says\x01 ä"), 0o644))
	whole := scoreOf(t, evalOnOneThread("-checkpoint", run.Dir, "-data", text, "-json"))
	assert.Equal(t, 15, whole.Tokens)

	got := evalOnOneThread("-checkpoint", run.Dir, "-data", text, "-per-token")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	lines := strings.Split(got.Stdout, "\n")
	assert.Regexp(t, `^1\t"l"\t[0-9.e+-]+$`, lines[0])
	assert.Regexp(t, `^12\t"\\x01"\t`, lines[11])
	assert.Regexp(t, `^14\t"\\xc3"\t`, lines[13])
	assert.Equal(t, "tokens         15", lines[15])

	got = evalOnOneThread("-checkpoint", run.Dir, "-data", text, "-per-token", "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	lines = strings.Split(strings.TrimSpace(got.Stdout), "\n")
	require.Len(t, lines, 16)
	sum := 0.0
	for i, line := range lines[:15] {
		var token struct {
			Index int
			ID    int
			Token string
			Loss  float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &token), line)
		assert.Equal(t, i+1, token.Index)
		sum += token.Loss
	}
	assert.InEpsilon(t, whole.Loss, sum/15, 1e-6)
	var last eval.Score
	require.NoError(t, json.Unmarshal([]byte(lines[15]), &last))
	assert.Equal(t, whole, last)

	twice := scoreOf(t, evalOnOneThread("-checkpoint", run.Dir, "-data", text, "-data", run.Text, "-tokens", "40", "-json"))
	assert.Equal(t, 40, twice.Tokens)
}

func TestEvalOfJSONLines(t *testing.T) {
	run := clitest.Train(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"body":"first"}`+"\n"+`{"body":"second one"}`), 0o644))
	assert.Equal(t, 16, scoreOf(t, evalOnOneThread("-checkpoint", run.Dir, "-data", path, "-text-field", "body", "-json")).Tokens)
	callEval("-checkpoint", run.Dir, "-data", path).Refused(t, "or by -text-field")
	callEval("-checkpoint", run.Dir, "-text-field", "body").Refused(t, "-text-field: want data with it")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "picture.png"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "program"), []byte("\x7fELF\x00"), 0o644))
	got := evalOnOneThread("-checkpoint", run.Dir, "-data", dir, "-text-field", "body", "-json")
	assert.Equal(t, "note: data.path: 1 file passed over, not text by extension or content: \"program\"; name them by a glob to read them\n", got.Stderr)
}

// TestEvalIDs: a model without a tokenizer is scored on ids; one with it gives the score of the
// text.
func TestEvalIDs(t *testing.T) {
	gpt2 := filepath.Join("..", "testdata", "reference", "gpt2-hf")
	got := evalOnOneThread("-checkpoint", gpt2, "-ids", "1,2,3,112")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `^tokens         3\nloss           \d\.\d{6}\nperplexity     [\d.]+\n$`, got.Stdout)
	assert.Regexp(t, `"bits_per_byte":null,"bits_per_byte_stderr":null}\n$`, evalOnOneThread("-checkpoint", gpt2, "-ids", "1,2,3,112", "-json").Stdout)
	assert.Regexp(t, `^1\t""\t\d\.\d+\n2\t""\t`, evalOnOneThread("-checkpoint", gpt2, "-ids", "1,2,3,112", "-per-token").Stdout)

	run := clitest.Train(t)
	path := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("abc"), 0o644))
	assert.Equal(t, scoreOf(t, evalOnOneThread("-checkpoint", run.Dir, "-data", path, "-json")), scoreOf(t, evalOnOneThread("-checkpoint", run.Dir, "-ids", "256,97,98,99", "-json")))
}

func TestEvalRefuses(t *testing.T) {
	run := clitest.Train(t)
	foreign := filepath.Join("..", "testdata", "reference", "gpt2-hf", "model.safetensors")
	empty := t.TempDir()
	text := filepath.Join(empty, "text.bin")
	require.NoError(t, os.WriteFile(text, []byte("no safetensors"), 0o644))
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no checkpoint", nil, "-checkpoint: want zoo:quickstart, "},
		{"missing", []string{"-checkpoint", filepath.Join(empty, "none")}, "none, which does not exist"},
		{"empty folder", []string{"-checkpoint", empty}, "neither a run folder"},
		{"foreign", []string{"-checkpoint", foreign}, "convert a foreign checkpoint first"},
		{"no model", []string{"-checkpoint", text}, "text.bin"},
		{"damaged", []string{"-checkpoint", clitest.Damage(t, run.Model)}, "damaged"},
		{"optimizer", []string{"-checkpoint", filepath.Join(run.Step, "optimizer.safetensors")}, "name the model.safetensors file"},
		{"no text", []string{"-checkpoint", run.Dir, "-data", filepath.Join(empty, "*.txt")}, "matches no file"},
		{"tokens", []string{"-checkpoint", run.Dir, "-tokens", "-3"}, "-tokens: want >= 0, got -3"},
		{"one id", []string{"-checkpoint", run.Dir, "-ids", "1"}, "-ids: want at least 2 token ids, got 1"},
		{"id beyond the vocabulary", []string{"-checkpoint", run.Dir, "-ids", "1,257"}, "-ids: token 1: want an id of 0 to 256, got 257"},
		{"text and ids", []string{"-checkpoint", run.Dir, "-ids", "1,2", "-data", text}, "want one of -data and -ids, got both"},
		{"threads", []string{"-checkpoint", run.Dir, "-threads", "-1"}, "-threads: want >= 0, got -1"},
		{"bootstrap", []string{"-checkpoint", run.Dir, "-bootstrap", "1"}, "-bootstrap: want >= 2, got 1"},
		{"by", []string{"-checkpoint", run.Dir, "-by", "letter"}, `-by: want one of position, token, document, got "letter"`},
		{"top", []string{"-checkpoint", run.Dir, "-by", "token", "-top", "0"}, "-top: want >= 1, got 0"},
		{"figure of nothing", []string{"-checkpoint", run.Dir, "-figure", "x.svg"}, "-figure: want -by with it"},
		{"figure of several", []string{run.Dir, run.Dir, "-by", "token", "-figure", "x.svg"}, "-figure: want -by position or one checkpoint"},
		{"tokens of several", []string{run.Dir, run.Dir, "-per-token"}, "-per-token: want one checkpoint, got 2"},
		{"ids of several", []string{run.Dir, run.Dir, "-ids", "1,2"}, "-ids: want one checkpoint, got 2"},
		{"second checkpoint", []string{run.Dir, filepath.Join(empty, "none")}, "none, which does not exist"},
		{"shots without a task", []string{run.Dir, "-shots", "1"}, "-shots: want it with -task alone"},
		{"text with a task", []string{run.Dir, "-task", "x.jsonl", "-data", text}, "-data: want it with text alone"},
		{"flag", []string{"-chekpoint", run.Dir}, "did you mean -checkpoint?"},
	} {
		t.Run(c.name, func(t *testing.T) { callEval(c.args...).Refused(t, c.want) })
	}
	require.NoError(t, os.Remove(run.Text))
	evalOnOneThread("-checkpoint", run.Dir).Refused(t, "validation split of the model's run")
}

func TestEvalInterrupted(t *testing.T) {
	run := clitest.Train(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got := callWith(ctx, "eval", "-checkpoint", run.Dir)
	assert.Equal(t, clitest.Outcome{Code: commandline.ExitRun, Stderr: "error: ours eval: interrupted\n"}, got)
}

func TestEvalHelp(t *testing.T) {
	got := callEval("-h")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.True(t, strings.HasPrefix(got.Stdout, "Example:\n"))
	assert.Contains(t, got.Stdout, "\n\nA task instead of text:\n  -task FILE.jsonl ")
	for _, name := range []string{"-by GROUP", "-shots N", "-format NAME", "-checkpoint PATH", "-data FILES", "-json", "-per-token", "-text-field NAME", "-tokens N", "-threads N"} {
		assert.Contains(t, got.Stdout, "\n  "+name)
	}
}

// TestEvalNamesTheStepItFellBackTo: the newest model is damaged, the one before it is scored.
func TestEvalNamesTheStepItFellBackTo(t *testing.T) {
	run := clitest.Train(t)
	damaged, err := os.ReadFile(run.Model)
	require.NoError(t, err)
	damaged[len(damaged)-1] ^= 1
	require.NoError(t, os.WriteFile(run.Model, damaged, 0o644))
	got := evalOnOneThread("-checkpoint", run.Dir, "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stderr, "step-00000010: using the checkpoint of step 10\n")
}

// TestEvalHelpNamesTheFormats: the kinds of tasks, and the known tasks, in the order of the list.
func TestEvalHelpNamesTheFormats(t *testing.T) {
	help := callEval("-h").Stdout
	var names []string
	for _, f := range tasks.Formats() {
		names = append(names, f.Name)
	}
	assert.Contains(t, help, strings.Join(names[:3], ", ")+" (default ")
	assert.Contains(t, help, strings.Join(names[3:], ", ")+"\n")
}
