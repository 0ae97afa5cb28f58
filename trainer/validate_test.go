package trainer_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

func TestAStepIsSavedBeforeItIsValidated(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	validated := 0
	report := &listener{onNote: func(line string) {
		var step int
		if _, err := fmt.Sscanf(line, "step %d  validation loss", &step); err == nil {
			validated++
			require.DirExists(t, filepath.Join(out, "checkpoints", fmt.Sprintf("step-%08d", step)))
			require.FileExists(t, filepath.Join(out, "latest.json"))
		}
	}}
	train(t, smallest(t, corpus(t), out), trainer.Options{Report: report})
	require.Equal(t, 3, validated)
}

func TestValidationThatCannotWorkIsRefusedBeforeTheFirstStep(t *testing.T) {
	text := corpus(t)
	for _, tokens := range []int{1, 10, 15} {
		_, _, err := runconfig.Parse(models.Standard(), "small.yaml", []byte(smallYAML), []string{"data.path=[" + text + "]", fmt.Sprintf("train.eval_tokens=%d", tokens)})
		var refused *settings.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, "train.eval_tokens", refused.Key)
	}
	for _, tokens := range []int{16, 0, math.MaxInt} {
		out := filepath.Join(t.TempDir(), "run")
		run := smallest(t, text, out, "train.steps=2")
		run.Train.EvalTokens = tokens
		r := train(t, run, trainer.Options{})
		require.NotNil(t, r.Final)
		require.Zero(t, r.Final.Tokens%16)
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	const bos = "\x00\x01"
	shard := ""
	for i := range 2000 {
		shard += bos + "a\x00" + string(rune('a'+i%20)) + "\x00"
	}
	shard += strings.Repeat(bos, 1000) // the end of the stream is documents without text
	require.NoError(t, os.WriteFile(nothing, []byte(shard), 0o600))
	run := smallest(t, nothing, filepath.Join(t.TempDir(), "run"), "data.source=shards", "data.split=tail/20")
	_, err := tryTrain(context.Background(), run, trainer.Options{})
	require.ErrorContains(t, err, "validation split: want text, got 64 tokens that only separate documents")
	run.Train.EvalEvery = 0
	require.Nil(t, train(t, run, trainer.Options{}).Final, "a run that need not validate does not")
}

func TestCheckpointsComeAtRegularTimes(t *testing.T) {
	require.Equal(t, 10.0, runconfig.Defaults().Train.CheckpointMinutes)
	out, other := filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
	text := corpus(t)
	train(t, smallest(t, text, out, "train.eval_every=0", "train.checkpoint_every=0", "train.keep=9", "train.steps=5", "train.checkpoint_minutes=1e-9"), trainer.Options{})
	require.Len(t, steps(t, out), 5, "each step takes longer than that")
	train(t, smallest(t, text, other, "train.eval_every=0", "train.checkpoint_every=0", "train.keep=9", "train.steps=5", "train.checkpoint_minutes=0"), trainer.Options{})
	require.Len(t, steps(t, other), 1)
	require.Equal(t, losses(t, other), losses(t, out), "when it is saved changes nothing")
	require.Equal(t, last(t, other).Model, last(t, out).Model)
	require.Equal(t, last(t, other).Optimizer, last(t, out).Optimizer)
}

// TestLargeVocabulary: a model whose ids two bytes do not hold is trained on text and scored.
func TestLargeVocabulary(t *testing.T) {
	text, err := os.ReadFile("../testdata/reference/tokenizer/llama3/tokenizer.json")
	require.NoError(t, err)
	dir := t.TempDir()
	more := strings.Replace(string(text), `"added_tokens":[`, `"added_tokens":[{"id":128255,"content":"<extra>"},`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(more), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"bos_token_id":128255}`), 0o600))
	run := tiny(t, corpus(t), filepath.Join(dir, "run"), "data.tokenizer="+filepath.ToSlash(filepath.Join(dir, "tokenizer.json")),
		"model.vocab=128256", "train.steps=2", "train.eval_every=1", "train.batch=1", "train.eval_tokens=64")
	r := train(t, run, trainer.Options{})
	assert.Equal(t, 2, r.Steps)
	assert.InDelta(t, math.Log(128256), r.Final.Loss, 1, "as good as guessing")
}
