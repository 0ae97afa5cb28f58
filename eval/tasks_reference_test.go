package eval_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/eval/tasks"
	"github.com/residua-go/residua/pretrained"
)

// lmEvalTolerance is relative: a wrong rule for windows would change the sums by 3e-6.
const lmEvalTolerance = 1e-6

// referenceDir returns the folder with reference folders: RESIDUA_REFERENCE, relative to the
// project's root, or the project's own.
func referenceDir() string {
	dir := os.Getenv("RESIDUA_REFERENCE")
	switch {
	case dir == "":
		dir = filepath.Join("testdata", "reference")
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join("..", dir)
}

// lmEvalReference is the content of expected.json: what lm-eval computed for a model and three task
// files.
type lmEvalReference struct {
	Results        map[string]map[string]float64 `json:"results"`
	Loglikelihoods struct {
		MultipleChoice [][]lmEvalPair `json:"multiple_choice"`
		LastWord       [][]lmEvalPair `json:"last_word"`
		Perplexity     [][]float64    `json:"perplexity"`
	} `json:"loglikelihoods"`
}

// lmEvalPair is a sum of log-probabilities, and whether each token is the likeliest.
type lmEvalPair struct {
	sum    float64
	greedy bool
}

func (p *lmEvalPair) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.sum, &p.greedy})
}

// TestReferenceOfLMEval compares every log-likelihood, greedy flag and metric in every folder that
// has a model and lm-eval's results.
func TestReferenceOfLMEval(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(referenceDir(), "*", "model", "config.json"))
	require.NoError(t, err)
	if own := filepath.Join(referenceDir(), "model", "config.json"); exists(own) {
		files = append(files, own) // the folder is a reference itself
	}
	if len(files) == 0 && os.Getenv("RESIDUA_REFERENCE") != "" {
		t.Skip("no folder with a model and tasks there")
	}
	require.NotEmpty(t, files)
	for _, file := range files {
		dir := filepath.Dir(filepath.Dir(file))
		t.Run(filepath.Base(dir), func(t *testing.T) { testLMEval(t, dir) })
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func testLMEval(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	require.NoError(t, err)
	var want lmEvalReference
	require.NoError(t, json.Unmarshal(text, &want))
	m, err := pretrained.Open(filepath.Join(dir, "model"))
	require.NoError(t, err)
	tokenizer, err := m.Tokenizer()
	require.NoError(t, err)
	worst := 0.0
	score := func(name, format string) tasks.Result {
		task, err := tasks.Load(context.Background(), filepath.Join(dir, name+".jsonl"), tasks.Options{Format: format, Resamples: 10})
		require.NoError(t, err)
		result, err := task.Score(context.Background(), m.Store, m.Spec, tokenizer, eval.Options{Threads: 2})
		require.NoError(t, err)
		expected := want.Results[name]
		for _, metric := range result.Metrics {
			if want, known := expected[metric.Name]; assert.True(t, known, metric.Name) {
				delete(expected, metric.Name)
				if metric.Name == "acc" || metric.Name == "acc_norm" {
					assert.Equal(t, want, metric.Value, "%s %s", name, metric.Name)
				} else {
					assert.InEpsilon(t, want, metric.Value, lmEvalTolerance, "%s %s", name, metric.Name)
				}
			}
		}
		assert.Empty(t, expected, "metrics that are not computed")
		return result
	}
	compare := func(name string, samples []tasks.Sample, want [][]lmEvalPair) {
		require.Len(t, samples, len(want))
		for i, pairs := range want {
			require.Len(t, samples[i].LogLikelihoods, len(pairs))
			for k, p := range pairs {
				worst = max(worst, math.Abs(samples[i].LogLikelihoods[k]/p.sum-1))
				assert.InEpsilon(t, p.sum, samples[i].LogLikelihoods[k], lmEvalTolerance, "%s, document %d, choice %d", name, i, k)
				assert.Equal(t, p.greedy, samples[i].Greedy[k], "%s, document %d, choice %d", name, i, k)
			}
		}
	}
	compare("multiple_choice", score("multiple_choice", "multiple_choice").Samples, want.Loglikelihoods.MultipleChoice)
	compare("last_word", score("last_word", "last_word").Samples, want.Loglikelihoods.LastWord)
	pages := score("perplexity", "rolling").Samples
	require.Len(t, pages, len(want.Loglikelihoods.Perplexity))
	for i, sum := range want.Loglikelihoods.Perplexity {
		worst = max(worst, math.Abs(pages[i].LogLikelihoods[0]/sum[0]-1))
		assert.InEpsilon(t, sum[0], pages[i].LogLikelihoods[0], lmEvalTolerance, "page %d", i)
	}
	t.Logf("worst relative error of a log-likelihood: %.1e", worst)
}
