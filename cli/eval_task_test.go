package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

func taskFile(name string) string {
	return filepath.Join("..", "eval", "tasks", "testdata", name+".jsonl")
}

func TestEvalOfATask(t *testing.T) {
	run := clitest.Train(t, "model.seq=40")
	got := evalOnOneThread("-task", taskFile("piqa"), "-format", "piqa", "-json", "-per-document", run.Dir)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
	require.Len(t, lines, 3, "two documents and the result")
	hits := 0.0
	for i, line := range lines[:2] {
		var sample struct {
			Line    int
			Log     []float64 `json:"log_likelihoods"`
			Acc     *bool
			AccNorm *bool `json:"acc_norm"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &sample), line)
		assert.Equal(t, i+1, sample.Line)
		assert.Len(t, sample.Log, 2)
		assert.Equal(t, (sample.Log[1] > sample.Log[0]) == (i == 1), *sample.Acc)
		require.NotNil(t, sample.AccNorm)
		if *sample.Acc {
			hits++
		}
	}
	var result struct {
		Task, Format     string
		Shots, Documents int
		Metrics          map[string]float64
	}
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &result))
	assert.Equal(t, "piqa", result.Format)
	assert.Equal(t, 2, result.Documents)
	assert.Equal(t, hits/2, result.Metrics["acc"])
	assert.Contains(t, result.Metrics, "acc_norm_stderr")

	assert.Contains(t, got.Stderr, "texts whose beginning the model did not see, longer than the 40 tokens that it was trained on: ", "a byte a token")
	table := evalOnOneThread("-task", taskFile("lambada"), "-type", "last_word", "-shots", "1", "-limit", "2", run.Dir, run.Step)
	require.Equal(t, commandline.ExitOK, table.Code, table.Stderr)
	rows := strings.Split(table.Stdout, "\n")
	require.Len(t, rows, 11, "and the difference")
	assert.Regexp(t, `^checkpoint +documents +perplexity +acc$`, rows[0])
	cells := func(row string) []string { return strings.Fields(row)[1:] }
	assert.Equal(t, cells(rows[2]), cells(rows[3]), "the same model")
	assert.Equal(t, []string{"+0.0000", "±", "0", "+0.0000", "±", "0"}, cells(rows[9]))
}

// TestEvalOfHeldOutText: a task of the run's validation text, the same for all models, which are
// compared document by document.
func TestEvalOfHeldOutText(t *testing.T) {
	run := clitest.Train(t, "model.seq=40")
	first := filepath.Join(filepath.Dir(run.Step), "step-00000010")
	args := []string{"-task", "heldout", "-type", "multiple_choice", "-limit", "10", run.Dir, first}
	got := evalOnOneThread(args...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `(?s)\n\ndifference from .*, document by document\n\ncheckpoint +acc +acc_norm\n-.*step-00000010 +[+-]0\.\d{4} ± `, got.Stdout)
	lines := strings.Split(strings.TrimSpace(evalOnOneThread(append(args, "-json")...).Stdout), "\n")
	require.Len(t, lines, 2)
	assert.NotContains(t, lines[0], "difference")
	assert.Contains(t, lines[1], `"difference":{"acc":`)
	evalOnOneThread("-task", "heldout", "-type", "rolling", run.Dir).Refused(t, "-type: want multiple_choice or last_word of held-out text, got rolling")
}

// TestEvalOfTasksRefuses: one line, exit code 2; of the file with its line.
func TestEvalOfTasksRefuses(t *testing.T) {
	run := clitest.Train(t)
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	require.NoError(t, os.WriteFile(bad, []byte(`{"query": "q", "choices": ["a"], "gold": 0}`+"\n"+`{"query": "q", "choices": ["a"], "gold": 3}`), 0o644))
	long := filepath.Join(t.TempDir(), "long.jsonl")
	require.NoError(t, os.WriteFile(long, []byte(`{"query": "q", "choices": ["a", "longer than the window"], "gold": 0}`), 0o644))
	for _, c := range []struct {
		want string
		args []string
	}{
		{bad + `:2: field "gold": want a whole number of 0 to 0, got 3`, []string{"-task", bad}},
		{long + ":1: choice 1: want a continuation of at most 16 tokens, the model's training length, got 23", []string{"-task", long}},
		{"nowhere.jsonl", []string{"-task", "nowhere.jsonl"}},
		{"-type: want one of multiple_choice, last_word, rolling, got \"arc\"", []string{"-task", bad, "-type", "arc"}},
		{"did you mean piqa?", []string{"-task", bad, "-format", "pica"}},
		{"want one of -type and -format, got both", []string{"-task", bad, "-format", "piqa", "-type", "rolling"}},
		{"-shots: want at most 1, the other documents of", []string{"-task", taskFile("piqa"), "-format", "piqa", "-shots", "2"}},
		{"-shots-from: want shots with it", []string{"-task", taskFile("piqa"), "-format", "piqa", "-shots-from", bad}},
		{"-limit: want >= 0, got -1", []string{"-task", bad, "-limit", "-1"}},
		{"want text in UTF-8, got a binary file", []string{"-task", run.Model}},
	} {
		evalOnOneThread(append(c.args, run.Dir)...).Refused(t, c.want)
	}
	gpt2 := filepath.Join("..", "testdata", "reference", "gpt2-hf")
	got := evalOnOneThread("-task", taskFile("piqa"), "-format", "piqa", gpt2)
	assert.Equal(t, commandline.ExitUsage, got.Code)
	assert.Contains(t, got.Stderr, "want a model with a tokenizer")
}

// TestEvalOfSeveral: a row, or a line of JSON, a checkpoint, with what each scores by itself.
func TestEvalOfSeveral(t *testing.T) {
	run := clitest.Train(t)
	first := filepath.Join(filepath.Dir(run.Step), "step-00000010")
	got := evalOnOneThread("-checkpoint", first, run.Dir, "-json")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
	require.Len(t, lines, 2)
	for i, path := range []string{first, run.Dir} {
		alone := strings.TrimSpace(evalOnOneThread(path, "-json").Stdout)
		name, err := json.Marshal(path)
		require.NoError(t, err)
		assert.Equal(t, `{"checkpoint":`+string(name)+`,`+alone[1:], lines[i])
	}
	table := evalOnOneThread(first, run.Dir)
	assert.Regexp(t, `(?s)^checkpoint +tokens +loss +perplexity +bits per byte\n-+.*\n.*step-00000010 +192 +\d\.\d{4} ± .*\n.*run +192 `, table.Stdout)
}

// TestEvalByGroup: tables of positions, tokens and documents, and their pictures.
func TestEvalByGroup(t *testing.T) {
	run := clitest.Train(t)
	svg := filepath.Join(t.TempDir(), "by.svg")
	got := evalOnOneThread(run.Dir, "-by", "position", "-figure", svg)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Regexp(t, `\nposition  tokens +loss +bits per byte +share of the loss\n`, got.Stdout)
	for _, row := range []string{"1", "2", "3-4", "5-8", "9-16"} {
		assert.Regexp(t, `\n *`+row+` +\d+ +\d\.\d{4} ± `, got.Stdout)
	}
	picture, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Contains(t, string(picture), "position in the window")

	got = evalOnOneThread(run.Dir, "-by", "token", "-top", "3", "-figure", svg)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Len(t, strings.Split(strings.TrimSpace(got.Stdout), "\n"), 4+1+2+3)
	assert.Regexp(t, `\n +\d+ "."  `, got.Stdout)

	got = evalOnOneThread(run.Dir, run.Dir, "-by", "document")
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, got.Stdout, "\n"+run.Dir+"\n\n")

	got = evalOnOneThread(run.Dir, "-by", "token", "-json")
	var result struct {
		Loss   float64
		Tokens int
		By     string
		Groups []struct {
			Tokens      int
			Loss, Share float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.Stdout), &result), got.Stdout)
	assert.Equal(t, "token", result.By)
	tokens, nats, share := 0, 0.0, 0.0
	for _, g := range result.Groups {
		tokens, nats, share = tokens+g.Tokens, nats+float64(g.Tokens)*g.Loss, share+g.Share
	}
	assert.Equal(t, result.Tokens, tokens)
	assert.InEpsilon(t, result.Loss*float64(tokens), nats, 1e-9)
	assert.InDelta(t, 1, share, 1e-9)
}
