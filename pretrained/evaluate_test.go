package pretrained_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

const tinyYAML = `
seed: 3
model: {stream: {kind: matrix, dk: 5, dv: 6, rank: 3}, layers: 1, attention: {positions: learned}, feedforward: {kind: gelu, hidden: 20}, seq: 16, init: lecun}
data: {source: files, split: tail/4}
train: {batch: 4, steps: 12, lr: 1e-2, eval_tokens: 200}
device: {threads: 1}
`

// write writes text into a file of the test.
func write(t *testing.T, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func lines(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d says %d times nothing\n", i, i*i%97)
	}
	return text.String()
}

// train trains a tiny model on a text file and opens it.
func train(t *testing.T, text string, sets ...string) (*pretrained.Model, *trainer.Result) {
	out := filepath.Join(t.TempDir(), "run")
	run, _, err := runconfig.Parse(models.Standard(), "tiny.yaml", []byte(tinyYAML), append([]string{"data.path=[" + text + "]", "out=" + out}, sets...))
	require.NoError(t, err)
	training, err := trainer.Open(context.Background(), run, trainer.Options{Resume: trainer.ResumeNone})
	require.NoError(t, err)
	defer training.Close()
	result, err := training.Run(context.Background())
	require.NoError(t, err)
	p, err := pretrained.Open(out)
	require.NoError(t, err)
	return p, result
}

// evaluate scores on one thread, as the runs do.
func evaluate(t *testing.T, p *pretrained.Model, o pretrained.EvaluateOptions) eval.Score {
	o.Threads = 1
	score, err := p.Evaluate(context.Background(), o)
	require.NoError(t, err)
	return score
}

func TestValidationSplitScoresAsTheRunDid(t *testing.T) {
	text := write(t, "text.txt", lines(120))
	p, result := train(t, text)
	require.NotNil(t, result.Final)
	assert.Equal(t, *result.Final, evaluate(t, p, pretrained.EvaluateOptions{Options: eval.Options{Batch: 4}}))
	assert.Equal(t, 192, result.Final.Tokens, "12 windows of eval_tokens 200")

	all, result := train(t, text, "train.eval_tokens=0")
	assert.Equal(t, *result.Final, evaluate(t, all, pretrained.EvaluateOptions{Options: eval.Options{Batch: 4}}))
	assert.Greater(t, result.Final.Tokens, 192)

	require.NoError(t, os.Remove(filepath.Join(p.Source.RunDir, "config.yaml")))
	assert.Equal(t, result.Final.Tokens, evaluate(t, p, pretrained.EvaluateOptions{}).Tokens, "without the config the default, which is more than there is")
}

func TestTextIsScoredWhole(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)))
	other := lines(9)[:133]
	path := write(t, "other.txt", other)
	var tokens []eval.Token
	score := evaluate(t, p, pretrained.EvaluateOptions{Data: []string{path}, Options: eval.Options{PerToken: func(token eval.Token) error {
		tokens = append(tokens, token)
		return nil
	}}})
	require.Len(t, tokens, len(other))
	assert.Equal(t, len(other), score.Tokens)
	sum, spelt := 0.0, ""
	for i, token := range tokens {
		assert.Equal(t, i+1, token.Index)
		assert.Equal(t, int(other[i]), token.ID)
		assert.Positive(t, token.Loss)
		sum += float64(token.Loss)
		spelt += token.Text
	}
	assert.Equal(t, other, spelt)
	assert.InEpsilon(t, sum/float64(len(other)), score.Loss, 1e-12)
	assert.InEpsilon(t, math.Exp(score.Loss), score.Perplexity, 1e-12)
	assert.InEpsilon(t, score.Loss/math.Ln2, score.BitsPerByte, 1e-12, "a byte a token")

	assert.Equal(t, score, evaluate(t, p, pretrained.EvaluateOptions{Data: []string{path}, Options: eval.Options{Batch: 1}}), "the batch does not matter")
	short := evaluate(t, p, pretrained.EvaluateOptions{Data: []string{path}, Tokens: 21})
	assert.Equal(t, 21, short.Tokens)
	assert.InEpsilon(t, mean(tokens[:16])*16+mean5(t, p, other)*5, short.Loss*21, 1e-5)
	assert.Equal(t, 3, evaluate(t, p, pretrained.EvaluateOptions{Data: []string{write(t, "abc.txt", "abc")}}).Tokens, "shorter than a window")
	assert.Equal(t, 7, evaluate(t, p, pretrained.EvaluateOptions{Tokens: 7}).Tokens, "of the validation split")
	assert.Equal(t, 230, evaluate(t, p, pretrained.EvaluateOptions{Tokens: 230}).Tokens, "more than the run's 200")
}

func mean(tokens []eval.Token) float64 {
	sum := 0.0
	for _, token := range tokens {
		sum += float64(token.Loss)
	}
	return sum / float64(len(tokens))
}

// mean5 returns the mean loss of the 5 tokens after the first window, in a separate row.
func mean5(t *testing.T, p *pretrained.Model, text string) float64 {
	e, err := eval.NewEvaluator(graph.Options{Store: p.Store, Threads: 1}, p.Spec, 1, 5, false)
	require.NoError(t, err)
	defer e.Close()
	var row []int32
	for _, b := range []byte(text[15:21]) {
		row = append(row, int32(b))
	}
	loaded, err := p.LoadText(context.Background(), pretrained.EvaluateOptions{})
	require.NoError(t, err)
	score, err := e.Evaluate(context.Background(), loaded.Tokenizer, data.NewTokens(p.Spec.Vocab, row))
	require.NoError(t, err)
	return score.Loss
}

// TestDocumentsAreJoined scores a folder: BOS between documents is a token without text.
func TestDocumentsAreJoined(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)))
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "first", "b.md": "second one", "c.bin": "passed over"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	var ends []int
	score := evaluate(t, p, pretrained.EvaluateOptions{Data: []string{dir}, Options: eval.Options{PerToken: func(token eval.Token) error {
		if token.Text == "" {
			ends = append(ends, token.Index)
		}
		return nil
	}}})
	assert.Equal(t, []int{6}, ends)
	assert.Equal(t, 16, score.Tokens)
	assert.InEpsilon(t, score.Loss*16/math.Ln2/15, score.BitsPerByte, 1e-12)
}

// prepared writes a corpus as token shards, without a split.
func prepared(t *testing.T, dir string, o data.Options) {
	t.Helper()
	o.Split = "none"
	p, err := data.NewPreparation(t.Context(), data.PrepareOptions{Options: o, Dir: dir})
	require.NoError(t, err)
	_, err = p.Run(t.Context())
	require.NoError(t, err)
}

// TestShardsAreScoredAsTheirText: folders of token shards made by the model's tokenizer have the
// score of their text.
func TestShardsAreScoredAsTheirText(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)))
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": lines(5), "b.txt": "second one"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	shards := filepath.Join(t.TempDir(), "shards")
	o := data.Options{Source: data.Files{}, Paths: []string{dir}}
	prepared(t, shards, o)
	assert.Equal(t, evaluate(t, p, pretrained.EvaluateOptions{Data: []string{dir}}), evaluate(t, p, pretrained.EvaluateOptions{Data: []string{shards}}))
	assert.Equal(t, evaluate(t, p, pretrained.EvaluateOptions{Data: []string{dir}}), evaluate(t, p, pretrained.EvaluateOptions{Data: []string{filepath.Join(shards, "*.tokens")}}))

	other := filepath.Join(t.TempDir(), "gpt2")
	o.Tokenizer = "gpt2"
	prepared(t, other, o)
	_, err := p.Evaluate(context.Background(), pretrained.EvaluateOptions{Data: []string{other}})
	assert.ErrorContains(t, err, `want shards of tokenizer "bytes", these were made with "gpt2"`)
}

// TestBitsPerByteOfNormalizedText: the bits of a text are divided by the bytes of the text, not by
// those that its tokenizer has normalized it to.
func TestBitsPerByteOfNormalizedText(t *testing.T) {
	dir := ended(t, nil)
	text, err := os.ReadFile(filepath.Join(dir, "tokenizer.json"))
	require.NoError(t, err)
	require.Contains(t, string(text), `"normalizer":null`)
	nfc := strings.Replace(string(text), `"normalizer":null`, `"normalizer":{"type":"NFC"}`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(nfc), 0o600))
	p := open(t, dir)
	tokenizer, err := p.Tokenizer()
	require.NoError(t, err)
	for _, c := range []string{"cafe\u0301, cre\u0300me brule\u0301e. ", "caf\u00e9, cr\u00e8me brul\u00e9e. "} {
		c = strings.Repeat(c, 9)
		m, err := p.LoadText(t.Context(), pretrained.EvaluateOptions{Data: []string{write(t, "text.txt", c)}})
		require.NoError(t, err)
		tally := eval.NewTally(m, p.Spec.Seq)
		score, err := eval.Evaluate(t.Context(), p.Store, p.Spec, m, eval.Options{PerToken: tally.Add})
		require.NoError(t, err)
		tokens := float64(len(tokenizer.Encode(nil, c)))
		require.InEpsilon(t, tokens*math.Log2(602)/float64(len(c)), score.BitsPerByte, 1e-5, "logits are zero")
		documents, err := tally.Groups(eval.ByDocument)
		require.NoError(t, err)
		require.InEpsilon(t, score.BitsPerByte, documents[0].BitsPerByte, 1e-5)
	}
}

func TestTextFieldOfLines(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)))
	path := write(t, "a.jsonl", `{"text":"no","body":"first"}`+"\n"+`{"body":"second one"}`)
	assert.Equal(t, 16, evaluate(t, p, pretrained.EvaluateOptions{Data: []string{path}, TextField: "body"}).Tokens)
	text, err := p.LoadText(context.Background(), pretrained.EvaluateOptions{Data: []string{path}})
	require.NoError(t, err)
	assert.Equal(t, []string{"data.path: 1 record without a text left out"}, text.Notes)
	path = write(t, "b.jsonl", `{"body":"first"}`)
	_, err = p.Evaluate(context.Background(), pretrained.EvaluateOptions{Data: []string{path}})
	assert.ErrorContains(t, err, `b.jsonl:1: want the text in field "text", got an object with the fields [body]: name it in data.text_field, or by -text-field`)
	_, err = p.Evaluate(context.Background(), pretrained.EvaluateOptions{TextField: "body"})
	setting("text-field")(t, err)
}

func TestFilesThatArePassedOverAreNoted(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)))
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "text", "b.bin": "binary"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	text, err := p.LoadText(context.Background(), pretrained.EvaluateOptions{Data: []string{dir}})
	require.NoError(t, err)
	require.Len(t, text.Notes, 1)
	assert.Contains(t, text.Notes[0], `1 file passed over, not text by extension or content: "b.bin"`)
}

// The end of a file is scored if the run held it out, and not if the run trained on it.
func TestEndOfOneFileIsScoredIfItWasHeldOut(t *testing.T) {
	text := write(t, "text.txt", lines(120))
	p, result := train(t, text, "data.split=hash/20")
	require.NotNil(t, result.Final)
	assert.Equal(t, *result.Final, evaluate(t, p, pretrained.EvaluateOptions{Options: eval.Options{Batch: 4}}))

	p, _ = train(t, text, "data.split=none")
	p.Data.Split = "hash/20" // as in a run from before ends were held out: it trained on all of the file
	_, err := p.LoadText(context.Background(), pretrained.EvaluateOptions{})
	assert.ErrorContains(t, err, "data: validation split: want at least 17 tokens (seq 16 + 1), got 0 in 0 documents")
}

func TestChangedCorpusIsNoticed(t *testing.T) {
	path := write(t, "text.txt", lines(120))
	p, _ := train(t, path)
	step, err := checkpoint.Load(p.Source.StepDir)
	require.NoError(t, err)
	p.State = &step.State
	same, err := p.LoadText(context.Background(), pretrained.EvaluateOptions{})
	require.NoError(t, err)
	assert.Empty(t, same.Warnings)

	require.NoError(t, os.WriteFile(path, []byte(lines(121)), 0o644))
	changed, err := p.LoadText(context.Background(), pretrained.EvaluateOptions{})
	require.NoError(t, err)
	require.Len(t, changed.Warnings, 1)
	assert.Contains(t, changed.Warnings[0], "the corpus has changed")
}

// with returns the model with other data.
func with(p *pretrained.Model, d runconfig.Data) *pretrained.Model {
	return &pretrained.Model{Description: pretrained.Description{Spec: p.Spec, Data: d}, Zoo: p.Zoo, Store: p.Store, Source: p.Source, State: p.State}
}

func TestTextsThatAreRefused(t *testing.T) {
	path := write(t, "text.txt", lines(120))
	p, _ := train(t, path)
	nameless, foreign := with(p, runconfig.Data{Tokenizer: "bytes"}), with(p, p.Data)
	foreign.Data.Tokenizer = "gpt2"
	for _, c := range []struct {
		name string
		p    *pretrained.Model
		o    pretrained.EvaluateOptions
		want check
	}{
		{"no such file", p, pretrained.EvaluateOptions{Data: []string{"nowhere.txt"}}, says("nowhere.txt: no such file or folder")},
		{"empty file", p, pretrained.EvaluateOptions{Data: []string{write(t, "empty.txt", "")}}, says("empty corpus")},
		{"negative", p, pretrained.EvaluateOptions{Tokens: -1}, setting("tokens")},
		{"negative batch", p, pretrained.EvaluateOptions{Options: eval.Options{Batch: -1}}, setting("batch")},
		{"no corpus", nameless, pretrained.EvaluateOptions{}, is(pretrained.ErrNoCorpus)},
		{"other tokenizer", foreign, pretrained.EvaluateOptions{Data: []string{path}}, vocabulary(50257, 257)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.p.Evaluate(context.Background(), c.o)
			c.want(t, err)
		})
	}
	require.NoError(t, os.Remove(path))
	_, err := p.Evaluate(context.Background(), pretrained.EvaluateOptions{})
	assert.ErrorContains(t, err, "validation split of the model's run")
}

func TestInterruptsAndFailures(t *testing.T) {
	p, _ := train(t, write(t, "text.txt", lines(120)))
	ctx, cancel := context.WithCancel(context.Background())
	seen := 0
	_, err := p.Evaluate(ctx, pretrained.EvaluateOptions{Options: eval.Options{Batch: 1, PerToken: func(eval.Token) error {
		seen++
		cancel()
		return nil
	}}})
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 16, seen, "the window under way is the last")

	full := errors.New("disk full")
	_, err = p.Evaluate(context.Background(), pretrained.EvaluateOptions{Options: eval.Options{PerToken: func(eval.Token) error { return full }}})
	assert.ErrorIs(t, err, full)

	for _, param := range p.Store.Params() {
		param.Value.Float32s()[0] = float32(math.NaN())
	}
	_, err = p.Evaluate(context.Background(), pretrained.EvaluateOptions{})
	assert.ErrorIs(t, err, models.ErrDiverged)
}
