package cli

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/generate"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/models"
)

// silentGenerate is the command with nothing on its standard input.
func silentGenerate() commandline.Command {
	return generate.Command(models.Standard(), strings.NewReader(""))
}

// generated runs the command and returns what it wrote.
func generated(t *testing.T, args ...string) string {
	got := clitest.Call(silentGenerate(), append(args, "-threads", "2")...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.True(t, utf8.ValidString(got.Stdout), "%q", got.Stdout)
	return got.Stdout
}

func TestGenerate(t *testing.T) {
	run := clitest.Train(t, "train.steps=120")
	greedy := generated(t, "-checkpoint", run.Dir, "-prompt", "line 7 sa", "-tokens", "40", "-temperature", "0")
	assert.True(t, strings.HasPrefix(greedy, "line 7 says "), "%q", greedy)
	assert.True(t, strings.HasSuffix(greedy, "\n"))
	for _, path := range []string{run.Step, run.Model} {
		assert.Equal(t, greedy, generated(t, "-checkpoint", path, "-prompt", "line 7 sa", "-tokens", "40", "-temperature", "0"), path)
	}
	assert.Equal(t, greedy, generated(t, "-checkpoint", run.Dir, "-prompt", "line 7 sa", "-tokens", "40", "-top-k", "1", "-seed", "9"))
	assert.Equal(t, greedy, generated(t, "-checkpoint", run.Dir, "-prompt", "line 7 sa", "-tokens", "40", "-top-p", "1e-9", "-seed", "9"))

	drawn := []string{"-checkpoint", run.Dir, "-prompt", "line", "-tokens", "60", "-temperature", "1.5", "-seed"}
	assert.Equal(t, generated(t, append(drawn, "4")...), generated(t, append(drawn, "4")...))
	assert.NotEqual(t, generated(t, append(drawn, "4")...), generated(t, append(drawn, "5")...))
	assert.Equal(t, "ab\n", generated(t, "-checkpoint", run.Dir, "-prompt", "ab", "-tokens", "0"))
	assert.Equal(t, "", generated(t, "-checkpoint", run.Dir, "-tokens", "0"))
	assert.Len(t, generated(t, "-checkpoint", run.Dir, "-prompt", strings.Repeat("x", 100), "-slide", "-tokens", "0"), 101)
}

func TestGenerateSaysWhatItLeftOut(t *testing.T) {
	run := clitest.Train(t)
	got := clitest.Call(silentGenerate(), "-checkpoint", run.Dir, "-prompt", "a long prompt", "-window", "4", "-slide", "-tokens", "2")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.Contains(t, got.Stderr, "note: the prompt has 14 tokens, the model saw the last 4 (-slide)\n")
	for seed := range 40 { // at a temperature without preferences, BOS comes
		got = clitest.Call(silentGenerate(), "-checkpoint", run.Dir, "-temperature", "1e9", "-tokens", "2000", "-seed", strconv.Itoa(seed))
		assert.Equal(t, commandline.ExitOK, got.Code)
		if strings.Contains(got.Stderr, "note: the model ended the document after ") {
			return
		}
	}
	t.Fatal("no document ended")
}

// gpt2HF is another program's checkpoint, of 2 layers of 3 heads, 113 ids, no tokenizer;
// noTokenizer is what is said of it.
const (
	gpt2HF      = "../testdata/reference/gpt2-hf"
	noTokenizer = "warning: ../testdata/reference/gpt2-hf/config.json: no tokenizer.json next to it, and no tokenizer here has its vocabulary of 113 ids: text cannot be encoded, want token ids as prompt\n"
)

func TestGenerateRefuses(t *testing.T) {
	run := clitest.Train(t)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"no checkpoint", []string{"-prompt", "x"}, "-checkpoint: want zoo:quickstart, "},
		{"neither text nor BOS", []string{"-checkpoint", run.Dir, "-bos=false"}, "-bos: want true, or a text, got neither: nothing is read"},
		{"BOS before ids", []string{"-checkpoint", run.Dir, "-ids", "97", "-bos=false"}, "-bos: want it with the text of a prompt alone, got ids, which are read as they are"},
		{"empty checkpoint", []string{"-checkpoint", ""}, "-checkpoint: want a value, got an empty one"},
		{"missing", []string{"-checkpoint", filepath.Join(run.Dir, "none")}, "none, which does not exist"},
		{"damaged", []string{"-checkpoint", clitest.Damage(t, run.Model)}, "damaged"},
		{"foreign", []string{"-checkpoint", filepath.Join("..", "testdata", "reference", "gpt2-hf", "model.safetensors")}, "another program's file"},
		{"temperature", []string{"-temperature", "-0.5"}, "-temperature: want >= 0 (0: always the likeliest token), got -0.5"},
		{"temperature, not a number", []string{"-temperature", "NaN"}, `-temperature: want a number, got "NaN"`},
		{"infinite temperature", []string{"-temperature", "inf"}, `-temperature: want a number, got "inf"`},
		{"top-p 0", []string{"-top-p", "0"}, "-top-p: want above 0 and at most 1 (1: no limit), got 0"},
		{"top-p above 1", []string{"-top-p", "1.01"}, "-top-p: want above 0 and at most 1 (1: no limit), got 1.01"},
		{"min-p", []string{"-min-p", "2"}, "-min-p: want >= 0 (0: no limit) and <= 1, got 2"},
		{"repetition penalty 0", []string{"-repetition-penalty", "0"}, "-repetition-penalty: want 0.001 to 1000 (1: none), got 0"},
		{"repetition penalty", []string{"-repetition-penalty", "-1"}, "-repetition-penalty: want 0.001 to 1000 (1: none), got -1"},
		{"bias of nothing", []string{"-logit-bias", "x"}, `-logit-bias: want TOKEN=VALUE, such as 13=-100 or "the"=2.5, got "x"`},
		{"bias of several tokens", []string{"-logit-bias", "the=3"}, `-logit-bias: want the text of one token, got "the", which is 3: [116 104 101]`},
		{"bias of no number", []string{"-logit-bias", "a=much"}, `-logit-bias: want a number after the last =, got "much"`},
		{"bias without bound", []string{"-logit-bias", "a=inf"}, "-logit-bias: token 97: want a number of -1e6 to 1e6, got +Inf"},
		{"bias of an unknown id", []string{"-logit-bias", "257=1"}, "-logit-bias: want ids of 0 to 256, got 257"},
		{"bias by text without a tokenizer", []string{"-checkpoint", gpt2HF, "-ids", "1", "-logit-bias", "a=1"}, `-logit-bias: want a token id, such as 13=-100, got "a": the model has no tokenizer`},
		{"long prompt", []string{"-window", "4", "-prompt", "four"}, "prompt: want at most 4 tokens, the model's window, got 5: shorten it, or set slide (-slide), so that the model sees its end alone"},
		{"top-k", []string{"-top-k", "-1"}, "-top-k: want >= 1, or 0 for no limit, got -1"},
		{"tokens", []string{"-tokens", "-1"}, "-tokens: want >= 0, got -1"},
		{"seed", []string{"-seed", "x"}, `-seed: want an integer >= 0, got "x"`},
		{"threads", []string{"-threads", "-1"}, "-threads: want >= 0"},
		{"window", []string{"-checkpoint", run.Dir, "-window", "-1"}, "window: want >= 1"},
		{"samples", []string{"-n", "0"}, "-n: want >= 1, got 0"},
		{"samples, not a number", []string{"-n", "many"}, `-n: want an integer, got "many"`},
		{"empty stop string", []string{"-stop", ""}, "-stop: want a value, got an empty one"},
		{"two prompts", []string{"-prompt", "a", "-prompt-file", "b"}, "want one of -prompt, -prompt-file, -prompts, -ids and -interactive, got -prompt and -prompt-file"},
		{"text and ids", []string{"-prompt", "", "-ids", "1"}, "want one of -prompt, -prompt-file, -prompts, -ids and -interactive, got -prompt and -ids"},
		{"no prompt file", []string{"-prompt-file", ""}, "-prompt-file: want a file's name, or - for standard input, got nothing"},
		{"missing prompt file", []string{"-prompt-file", "no/such.txt"}, "-prompt-file: no/such.txt: open: no such file or directory"},
		{"folder as prompt file", []string{"-prompt-file", run.Dir}, "-prompt-file: " + run.Dir + ": read: is a directory"},
		{"endless prompt file", []string{"-prompt-file", "/dev/zero"}, "-prompt-file: /dev/zero: want at most 4 MiB of text, got more: give its end alone"},
		{"no ids", []string{"-ids", ""}, "-ids: want at least one token id, got none"},
		{"an id left out", []string{"-ids", "1,,2"}, `-ids: want whole numbers such as 1,2,3, got ""`},
		{"words as ids", []string{"-ids", "1,x"}, `-ids: want whole numbers such as 1,2,3, got "x"`},
		{"id beyond the vocabulary", []string{"-ids", "1,257"}, "-ids: token 1: want an id of 0 to 256, got 257"},
		{"text for a model without a tokenizer", []string{"-checkpoint", gpt2HF, "-prompt", "a"}, "-ids: want token ids, such as 1,2,3, each below 113: the model has no tokenizer"},
		{"stop string for a model without a tokenizer", []string{"-checkpoint", gpt2HF, "-ids", "1", "-stop", "a"}, "-stop: want none, since the model has no tokenizer to spell it"},
		{"stray", []string{"-prompt", "two", "words"}, `want one [CHECKPOINT], got "words", too`},
		{"unknown", []string{"-topk", "3"}, "unknown flag -topk; did you mean -top-k?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if c.name != "no checkpoint" && args[0] != "-checkpoint" {
				args = append([]string{"-checkpoint", run.Dir}, args...)
			}
			got := clitest.Call(silentGenerate(), args...)
			got.Stderr = strings.TrimPrefix(got.Stderr, noTokenizer)
			got.Refused(t, c.want)
		})
	}
}

// cancelsThirdWrite cancels at its third write.
type cancelsThirdWrite struct {
	text   []byte
	writes int
	cancel context.CancelFunc
	err    error
}

func (w *cancelsThirdWrite) Write(text []byte) (int, error) {
	if w.writes++; w.writes >= 3 {
		if w.cancel == nil {
			return 0, w.err
		}
		w.cancel()
	}
	w.text = append(w.text, text...)
	return len(text), nil
}

// TestGenerateStreams interrupts in the middle: what is there by then has been written.
func TestGenerateStreams(t *testing.T) {
	run := clitest.Train(t, "train.steps=60")
	ctx, cancel := context.WithCancel(context.Background())
	var stderr bytes.Buffer
	w := &cancelsThirdWrite{cancel: cancel}
	args := []string{"-checkpoint", run.Dir, "-prompt", "line", "-tokens", "100000", "-temperature", "0"}
	assert.Equal(t, commandline.ExitRun, commandline.Execute(ctx, silentGenerate(), args, commandline.Output{Stdout: w, Stderr: &stderr}))
	assert.Equal(t, "error: generate: interrupted\n", stderr.String())
	assert.True(t, strings.HasPrefix(string(w.text), "line"), "%q", string(w.text))
	assert.True(t, strings.HasSuffix(string(w.text), "\n"))
	assert.Less(t, len(w.text), 12)

	stderr.Reset()
	broken := &cancelsThirdWrite{err: errors.New("broken pipe")}
	assert.Equal(t, commandline.ExitRun, commandline.Execute(context.Background(), silentGenerate(), args, commandline.Output{Stdout: broken, Stderr: &stderr}))
	assert.Equal(t, "error: cannot write the result: broken pipe\n", stderr.String())
}

func TestGenerateHelp(t *testing.T) {
	got := clitest.Call(silentGenerate(), "-h")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.True(t, strings.HasPrefix(got.Stdout, "Example:\n"))
	for _, name := range []string{"-checkpoint PATH", "-prompt TEXT", "-tokens N", "-temperature T", "-top-k K", "-top-p P", "-seed N", "-threads N", "-window N",
		"-prompt-file FILE", "-ids 1,2,3", "-n N", "-stop TEXT", "-json", "-min-p P", "-repetition-penalty C", "-logit-bias TOKEN=VALUE", "-logprobs N", "-stream", "-interactive", "-slide", "-prompts FILE"} {
		assert.Contains(t, got.Stdout, "\n  "+name)
	}
}
