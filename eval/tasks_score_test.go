package eval_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/eval/tasks"
)

func scoreTask(t *testing.T, file string, seq int, o tasks.Options) tasks.Result {
	store, spec := tinyOf(t, seq)
	task, err := tasks.Load(context.Background(), file, o)
	require.NoError(t, err)
	result, err := task.Score(context.Background(), store, spec, mustTokenizer(t, "bytes"), eval.Options{Threads: 1})
	require.NoError(t, err)
	return result
}

// TestResultOfChoices: accuracies are counted from the choices' log-likelihoods, which are sums
// over tokens.
func TestResultOfChoices(t *testing.T) {
	file := filepath.Join("tasks", "testdata", "hellaswag.jsonl")
	r := scoreTask(t, file, 128, tasks.Options{Format: "hellaswag"})
	store, spec := tinyOf(t, 128)
	documents := loadTask(t, "hellaswag", tasks.Options{})
	hits, normHits := 0.0, 0.0
	for i, d := range documents {
		best, bestNorm := 0, 0
		norms := make([]float64, len(d.Pairs))
		for k, p := range d.Pairs {
			answers, err := eval.Likelihoods(context.Background(), store, spec, []eval.Request{{Context: ids(p.Context), Continuation: ids(p.Continuation)}}, eval.Options{Threads: 1})
			require.NoError(t, err)
			assert.InEpsilon(t, answers[0].Sum(), r.Samples[i].LogLikelihoods[k], 1e-5)
			norms[k] = r.Samples[i].LogLikelihoods[k] / float64(len(p.Continuation)-1)
			if r.Samples[i].LogLikelihoods[k] > r.Samples[i].LogLikelihoods[best] {
				best = k
			}
			if norms[k] > norms[bestNorm] {
				bestNorm = k
			}
		}
		assert.Equal(t, best == d.Gold, *r.Samples[i].Acc)
		assert.Equal(t, bestNorm == d.Gold, *r.Samples[i].AccNorm)
		if best == d.Gold {
			hits++
		}
		if bestNorm == d.Gold {
			normHits++
		}
	}
	require.Len(t, r.Metrics, 2)
	assert.Equal(t, tasks.Metric{Name: "acc", Value: hits / 3, StdErr: math.Sqrt(hits / 3 * (1 - hits/3) / 2)}, r.Metrics[0])
	assert.Equal(t, tasks.Metric{Name: "acc_norm", Value: normHits / 3, StdErr: math.Sqrt(normHits / 3 * (1 - normHits/3) / 2)}, r.Metrics[1])
	assert.Zero(t, r.Truncated)
	assert.Len(t, scoreTask(t, filepath.Join("tasks", "testdata", "winogrande.jsonl"), 128, tasks.Options{Format: "winogrande"}).Metrics, 1, "acc alone")
}

// TestRollingMetrics: perplexities are computed over all pages together; with windows of one token,
// the model sees only the token before.
func TestRollingMetrics(t *testing.T) {
	file := filepath.Join("tasks", "testdata", "rolling.jsonl")
	r := scoreTask(t, file, 16, tasks.Options{Format: "rolling", Seed: 3})
	sum := r.Samples[0].LogLikelihoods[0] + r.Samples[1].LogLikelihoods[0]
	first, second := "The first page is short.", " The second one\tbegins with a space,\n\nand ends with a line break.\n"
	words, bytes := 5.0+15, float64(len(first)+len(second))
	require.Len(t, r.Metrics, 3)
	for i, want := range []float64{math.Exp(-sum / words), math.Exp(-sum / bytes), -sum / bytes / math.Ln2} {
		assert.InEpsilon(t, want, r.Metrics[i].Value, 1e-12, r.Metrics[i].Name)
		assert.Positive(t, r.Metrics[i].StdErr)
	}
	again := scoreTask(t, file, 16, tasks.Options{Format: "rolling", Seed: 3})
	assert.Equal(t, r.Metrics, again.Metrics)
	other := scoreTask(t, file, 16, tasks.Options{Format: "rolling", Seed: 4})
	assert.NotEqual(t, r.Metrics[2].StdErr, other.Metrics[2].StdErr)

	// With windows of one token, each token is predicted from the one before it alone.
	single := scoreTask(t, file, 1, tasks.Options{Format: "rolling"})
	store, spec := tinyOf(t, 1)
	want := 0.0
	page := append([]int32{256}, ids(first)...)
	for i := range page[1:] {
		answers, err := eval.Likelihoods(context.Background(), store, spec, []eval.Request{{Context: page[i : i+1], Continuation: page[i+1 : i+2]}}, eval.Options{Threads: 1})
		require.NoError(t, err)
		want += answers[0].Sum()
	}
	assert.InEpsilon(t, want, single.Samples[0].LogLikelihoods[0], 1e-6)
}

// TestLongContextsLoseTheirBeginning: the result says how many contexts were cut; each context can
// begin with BOS.
func TestLongContextsLoseTheirBeginning(t *testing.T) {
	write := func(line string) string {
		path := filepath.Join(t.TempDir(), "task.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(line), 0o644))
		return path
	}
	long := scoreTask(t, write(`{"text": "`+strings.Repeat("x", 40)+`abcdefghi jk"}`), 8, tasks.Options{Format: "last_word"})
	short := scoreTask(t, write(`{"text": "yyydefghi jk"}`), 8, tasks.Options{Format: "last_word"})
	assert.Equal(t, 1, long.Truncated)
	assert.Equal(t, short.Samples[0].LogLikelihoods, long.Samples[0].LogLikelihoods)

	empty := scoreTask(t, write(`{"text": "jk"}`), 8, tasks.Options{Format: "last_word"})
	withBOS := scoreTask(t, write(`{"text": "i jk"}`), 8, tasks.Options{Format: "last_word", BOS: true})
	without := scoreTask(t, write(`{"text": "i jk"}`), 8, tasks.Options{Format: "last_word"})
	assert.NotEqual(t, without.Samples[0].LogLikelihoods, withBOS.Samples[0].LogLikelihoods)
	store, spec := tinyOf(t, 8)
	answers, err := eval.Likelihoods(context.Background(), store, spec, []eval.Request{
		{Context: []int32{256}, Continuation: ids(" jk")}, {Context: append([]int32{256}, 'i'), Continuation: ids(" jk")}}, eval.Options{Threads: 1})
	require.NoError(t, err)
	assert.InEpsilon(t, answers[0].Sum(), empty.Samples[0].LogLikelihoods[0], 1e-6)
	assert.InEpsilon(t, answers[1].Sum(), withBOS.Samples[0].LogLikelihoods[0], 1e-6)

	task, err := tasks.Load(context.Background(), write(`{"query": "q", "choices": ["fine", "far too long"], "gold": 0}`), tasks.Options{})
	require.NoError(t, err)
	_, err = task.Score(context.Background(), store, spec, mustTokenizer(t, "bytes"), eval.Options{})
	assert.ErrorContains(t, err, "task.jsonl:1: choice 1: want a continuation of at most 8 tokens, the model's training length, got 13")
}

func mustTokenizer(t *testing.T, name string) data.Tokenizer {
	tokenizer, err := data.NewTokenizer(name)
	require.NoError(t, err)
	return tokenizer
}

func TestAnotherTokenizerIsRefused(t *testing.T) {
	store, spec := tinyOf(t, 8)
	task, err := tasks.Load(context.Background(), filepath.Join("tasks", "testdata", "multiple_choice.jsonl"), tasks.Options{})
	require.NoError(t, err)
	_, err = task.Score(context.Background(), store, spec, mustTokenizer(t, "gpt2"), eval.Options{})
	var bad *data.VocabularyError
	require.ErrorAs(t, err, &bad)
}

func TestTaskResultAsJSON(t *testing.T) {
	text, err := json.Marshal(tasks.Result{Task: "a.jsonl", Format: "lambada", Shots: 1, Documents: 2, Metrics: []tasks.Metric{{Name: "perplexity", Value: math.Inf(1), StdErr: math.NaN()}, {Name: "acc", Value: 0.5, StdErr: 0.25}}})
	require.NoError(t, err)
	assert.Equal(t, `{"task":"a.jsonl","format":"lambada","shots":1,"documents":2,"truncated":0,"metrics":{"acc":0.5,"acc_stderr":0.25,"perplexity":null,"perplexity_stderr":null}}`, string(text))
}
