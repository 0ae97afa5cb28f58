package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// sampleObject is a sample in the output of generate -json.
type sampleObject struct {
	Sample          int           `json:"sample"`
	Seed            uint64        `json:"seed"`
	Prompt          *string       `json:"prompt"`
	PromptIDs       []int32       `json:"prompt_ids"`
	Text            *string       `json:"text"`
	IDs             []int32       `json:"ids"`
	Tokens          int           `json:"tokens"`
	FinishReason    string        `json:"finish_reason"`
	TokensPerSecond float64       `json:"tokens_per_s"`
	LogProbs        []tokenObject `json:"logprobs"`
}

// tokenObject is a token there, with -logprobs.
type tokenObject struct {
	ID      int32         `json:"id"`
	Token   string        `json:"token"`
	LogProb float64       `json:"logprob"`
	Top     []tokenObject `json:"top"`
}

// objects runs the command with -json.
func objects(t *testing.T, args ...string) []sampleObject {
	var all []sampleObject
	for _, line := range strings.Split(strings.TrimSpace(generated(t, append(args, "-json")...)), "\n") {
		var o sampleObject
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&o), line)
		all = append(all, o)
	}
	return all
}

// TestGenerateSamples: the first of several equals the sample of the seed alone, and each the
// sample of the seed which is told with it.
func TestGenerateSamples(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-prompt", "line", "-tokens", "30", "-temperature", "1", "-seed", "4"}
	alone := generated(t, args...)
	three := generated(t, append(args, "-n", "3")...)
	assert.True(t, strings.HasPrefix(three, "--- sample 1 of 3, seed 4\n"+alone+"--- sample 2 of 3, seed "), three)
	assert.Equal(t, three, generated(t, append(args, "-n", "3")...))

	told := objects(t, append(args, "-n", "3")...)
	require.Len(t, told, 3)
	var want strings.Builder
	for i, o := range told {
		again := generated(t, append(args, "-seed", fmt.Sprint(o.Seed))...)
		assert.Equal(t, again, *o.Prompt+*o.Text+"\n")
		assert.Equal(t, i, o.Sample)
		fmt.Fprintf(&want, "--- sample %d of 3, seed %d\n%s", i+1, o.Seed, again)
	}
	assert.Equal(t, want.String(), three)
	assert.NotEqual(t, told[0].IDs, told[1].IDs)
	assert.NotEqual(t, told[1].IDs, told[2].IDs)

	got := clitest.Call(silentGenerate(), "-checkpoint", run.Dir, "-n", "2", "-temperature", "0", "-tokens", "3")
	assert.Equal(t, "note: at temperature 0 all samples are the same\n", got.Stderr)
}

func TestGenerateJSON(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-prompt", "dé <", "-tokens", "40", "-temperature", "1", "-seed", "2"}
	o := objects(t, args...)[0]
	assert.Equal(t, generated(t, args...), *o.Prompt+*o.Text+"\n")
	assert.Equal(t, "dé <", *o.Prompt)
	assert.Equal(t, []int32{256, 'd', 0xc3, 0xa9, ' ', '<'}, o.PromptIDs)
	assert.Len(t, o.IDs, 40)
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	assert.Equal(t, *o.Text, string([]rune(tokenizer.Decode(o.IDs))))
	assert.Equal(t, 40, o.Tokens)
	assert.EqualValues(t, 2, o.Seed)
	assert.EqualValues(t, "tokens", o.FinishReason)
	assert.Positive(t, o.TokensPerSecond)

	assert.Contains(t, generated(t, "-checkpoint", run.Dir, "-tokens", "0", "-json"), `"prompt":"","prompt_ids":[256],"text":"","ids":[],"tokens":0,"finish_reason":"tokens","tokens_per_s":0}`)
	assert.EqualValues(t, "document", objects(t, "-checkpoint", run.Dir, "-tokens", "100000", "-temperature", "1e9")[0].FinishReason)
}

// TestStopStrings: the text ends before the stop string, which a byte-level model draws in
// several tokens.
func TestStopStrings(t *testing.T) {
	run := clitest.Train(t, "train.steps=60")
	args := []string{"-checkpoint", run.Dir, "-prompt", "line", "-tokens", "60", "-temperature", "0"}
	whole := *objects(t, args...)[0].Text
	stop := whole[9:14]
	before, _, _ := strings.Cut(whole, stop)
	assert.Equal(t, "line"+before+"\n", generated(t, append(args, "-stop", "not in it", "-stop", stop)...))
	o := objects(t, append(args, "-stop", stop)...)[0]
	assert.Equal(t, before, *o.Text)
	assert.EqualValues(t, "stop", o.FinishReason)
	assert.Len(t, o.IDs, len(before)+len(stop), "the stop string's tokens are told")
	assert.Equal(t, "line"+whole+"\n", generated(t, append(args, "-stop", "not in it")...), "the prompt's own text ends nothing")
	assert.True(t, strings.HasPrefix(generated(t, append(args, "-stop", "line")...), "line"), "nor a stop string in the prompt")
}

// TestGenerateIDs: what -json tells of a text's ids gives the same continuation, as ids.
func TestGenerateIDs(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-tokens", "12", "-temperature", "1"}
	o := objects(t, append(args, "-prompt", "line")...)[0]
	ids := data.FormatIDs(o.PromptIDs)
	assert.Equal(t, "256,108,105,110,101", ids)
	assert.Equal(t, ids+","+data.FormatIDs(o.IDs)+"\n", generated(t, append(args, "-ids", ids)...))
	same := objects(t, append(args, "-ids", ids)...)[0]
	same.TokensPerSecond = o.TokensPerSecond
	assert.Equal(t, o, same)
	assert.NotEqual(t, o.IDs, objects(t, append(args, "-ids", "108,105,110,101")...)[0].IDs, "no BOS is added")
}

// TestPromptWithoutBOS: -bos=false reads the text alone, which has to be some; ids are read as they
// are.
func TestPromptWithoutBOS(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-tokens", "12", "-temperature", "1"}
	assert.Equal(t, objects(t, append(args, "-ids", "108,105,110,101")...)[0].IDs, objects(t, append(args, "-prompt", "line", "-bos=false")...)[0].IDs)
	assert.Equal(t, objects(t, append(args, "-prompt", "line")...)[0].IDs, objects(t, append(args, "-prompt", "line", "-bos")...)[0].IDs)
}

// TestModelWithoutATokenizer: ids in, ids out.
func TestModelWithoutATokenizer(t *testing.T) {
	args := []string{"-checkpoint", gpt2HF, "-ids", "5 6 7", "-tokens", "4", "-temperature", "0"}
	got := generated(t, args...)
	assert.Regexp(t, `^5,6,7(,\d+){4}\n$`, got)
	o := objects(t, args...)[0]
	assert.Equal(t, got, "5,6,7,"+data.FormatIDs(o.IDs)+"\n")
	assert.Nil(t, o.Text)
	assert.Nil(t, o.Prompt)
}

// TestTextsThatAreNotStreamed are the same, in one piece.
func TestTextsThatAreNotStreamed(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-prompt", "line", "-tokens", "30", "-temperature", "1"}
	assert.Equal(t, generated(t, args...), generated(t, append(args, "-stream=false")...))
}

// TestGeneratePrompts: each line gets the text that it gets alone.
func TestGeneratePrompts(t *testing.T) {
	run := clitest.Train(t)
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	args := []string{"-checkpoint", run.Dir, "-tokens", "12", "-temperature", "1", "-seed", "4"}
	want := "--- prompt 1 of 2, seed 4\n" + generated(t, append(args, "-prompt", "line 7")...) + "--- prompt 2 of 2, seed 4\n" + generated(t, append(args, "-prompt", `"says"`)...)
	assert.Equal(t, want, generated(t, append(args, "-prompts", write("list.txt", "line 7\r\n\n\"says\"\n"))...))
	assert.Equal(t, want, generated(t, append(args, "-prompts", write("list.jsonl", `"line 7"`+"\n"+`{"prompt": "\"says\"", "id": 3}`))...))

	four := objects(t, append(args, "-n", "2", "-prompts", write("list.txt", "line 7\nsays"))...)
	require.Len(t, four, 4)
	for i, o := range four {
		assert.Equal(t, []string{"line 7", "says"}[i/2], *o.Prompt)
		assert.Equal(t, i%2, o.Sample)
	}
	for content, want := range map[string]string{"": "want a prompt on each line, got nothing", "\"a\"\n[1]": `list.jsonl:2: want a JSON string, or an object with "prompt", got "[1]"`} {
		clitest.Call(silentGenerate(), append(args, "-prompts", write("list.jsonl", content))...).Refused(t, want)
	}
	clitest.Call(silentGenerate(), append(args, "-prompts", "no/such.txt")...).Refused(t, "-prompts: no/such.txt: open: no such file or directory")
	clitest.Call(silentGenerate(), append(args, "-prompts", "")...).Refused(t, "-prompts: want a file's name, got nothing")
	clitest.Call(silentGenerate(), append(args, "-prompts", "a", "-interactive")...).Refused(t, "want one of -prompt, -prompt-file, -prompts, -ids and -interactive, got -prompts and -interactive")
}

// TestLogProbs: a line a token after the text, and the same numbers as JSON.
func TestLogProbs(t *testing.T) {
	run := clitest.Train(t, "train.steps=60")
	args := []string{"-checkpoint", run.Dir, "-prompt", "line 7", "-tokens", "5", "-temperature", "0", "-logprobs", "2"}
	alone, table, found := strings.Cut(generated(t, args...), "\n\n")
	require.True(t, found)
	o := objects(t, args...)[0]
	assert.Equal(t, alone, "line 7"+*o.Text)
	require.Len(t, o.LogProbs, 5)
	lines := strings.Split(strings.TrimSpace(table), "\n")
	require.Len(t, lines, 6)
	assert.Equal(t, []string{"token", "id", "ln", "p", "p", "likeliest"}, strings.Fields(lines[0]))
	for i, l := range o.LogProbs {
		assert.Equal(t, o.IDs[i], l.ID)
		require.Len(t, l.Top, 2)
		assert.Equal(t, l.LogProb, l.Top[0].LogProb, "greedy")
		assert.Less(t, l.Top[1].LogProb, l.LogProb)
		assert.True(t, strings.HasPrefix(lines[i+1], strconv.Quote(l.Token)+" "), lines[i+1])
		assert.Contains(t, lines[i+1], fmt.Sprintf("  %d ", l.ID))
		assert.Contains(t, lines[i+1], fmt.Sprintf("  %.4f  %.3f  %q %.3f  %q ", l.LogProb, math.Exp(l.LogProb), l.Token, math.Exp(l.LogProb), l.Top[1].Token))
	}
	assert.Contains(t, generated(t, "-checkpoint", gpt2HF, "-ids", "5", "-tokens", "1", "-logprobs", "1"), "\ntoken  id")
}

// TestBiasAndPenaltyOfTheCall reach the draws.
func TestBiasAndPenaltyOfTheCall(t *testing.T) {
	run := clitest.Train(t)
	args := []string{"-checkpoint", run.Dir, "-prompt", "line", "-tokens", "4", "-temperature", "0"}
	assert.Equal(t, "linezzzz\n", generated(t, append(args, "-logit-bias", "z=100")...))
	assert.Equal(t, "line====\n", generated(t, append(args, "-logit-bias", "==100")...))
	assert.Equal(t, "line7777\n", generated(t, append(args, "-logit-bias", `"7"=100`)...))
	assert.Equal(t, "line\a\a\a\a\n", generated(t, append(args, "-logit-bias", `7=100`)...), "an id")
	varied := generated(t, append(args, "-logit-bias", "z=100", "-logit-bias", "y=95", "-logit-bias", "x=90", "-logit-bias", "w=85", "-repetition-penalty", "2")...)
	assert.Equal(t, "linezyxw\n", varied)
	assert.Equal(t, generated(t, args...), generated(t, append(args, "-temperature", "9", "-min-p", "1")...))
}
