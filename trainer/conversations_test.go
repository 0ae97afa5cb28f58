package trainer_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestResponsesCountAlikeInAStep: a run on conversations whose steps have one micro-batch of four
// rows has the losses and the weights of one whose steps have four of one row.
func TestResponsesCountAlikeInAStep(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "questions.jsonl")
	var lines strings.Builder
	for i := range 60 { // responses of different lengths
		fmt.Fprintf(&lines, `{"prompt": "%d?", "response": "%s"}`+"\n", i, strings.Repeat("ab", 1+i%7))
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o644))
	run := func(name string, sets ...string) (losses []float64, weights []float32) {
		out := filepath.Join(dir, name)
		r := tiny(t, path, out, append([]string{"data.source=conversations", "data.split=hash/5", "train.steps=6", "model.seq=24", "model.dropout=0"}, sets...)...)
		require.True(t, r.Data.MaskDocuments)
		result := train(t, r, trainer.Options{})
		lines, err := trainer.ReadMetrics(out)
		require.NoError(t, err)
		for _, m := range lines {
			losses = append(losses, float64(m.Loss))
		}
		losses = append(losses, result.Final.Loss)
		model, err := checkpoint.ReadModel(filepath.Join(result.Checkpoint, checkpoint.ModelFile))
		require.NoError(t, err)
		for _, p := range model.Tensors {
			weights = append(weights, p.Data.([]float32)...)
		}
		return losses, weights
	}
	losses, weights := run("whole", "train.batch=4", "train.accumulate=1")
	parts, others := run("parts", "train.batch=1", "train.accumulate=4")
	require.InDeltaSlice(t, losses, parts, 1e-6)
	require.InDeltaSlice(t, weights, others, 1e-5)
}

// TestResumedConversationsAreCutAlike: a run whose rows hold other conversations than those of the
// checkpoint's run is refused.
func TestResumedConversationsAreCutAlike(t *testing.T) {
	dir := t.TempDir()
	path, out := filepath.Join(dir, "questions.jsonl"), filepath.Join(dir, "run")
	var lines strings.Builder
	for i := range 60 { // some responses are longer than a row
		fmt.Fprintf(&lines, `{"prompt": "%d?", "response": "%s"}`+"\n", i, strings.Repeat("ab", 1+i%20))
	}
	require.NoError(t, os.WriteFile(path, []byte(lines.String()), 0o644))
	run := func(sets ...string) *runconfig.Run {
		return tiny(t, path, out, append([]string{"data.source=conversations", "data.split=hash/5", "model.seq=24"}, sets...)...)
	}
	train(t, run("train.steps=4"), trainer.Options{})
	_, err := tryTrain(t.Context(), run("train.steps=6", "data.cut=true"), trainer.Options{Resume: trainer.ResumeAuto})
	wantKey(t, err, "data.cut")
	require.ErrorContains(t, err, "data.cut: want false as the checkpoint's run, got true")
	train(t, run("train.steps=6"), trainer.Options{Resume: trainer.ResumeAuto})
}

// TestDividedTurnsAreNoted: a run whose conversations have turns that end with BOS says that later
// turns do not see them, unless it does not mask documents.
func TestDividedTurnsAreNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chats.jsonl")
	turns := strings.Repeat(`{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, `, 2)
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(`{"messages": [`+strings.TrimSuffix(turns, ", ")+"]}\n", 9)), 0o644))
	corpus, err := data.Load(t.Context(), data.Options{Source: data.DefaultConversations(), Paths: []string{path}, Split: "none",
		Chat: func(_ context.Context, chats []data.Chat) (texts []string, err error) {
			for _, chat := range chats {
				text := strings.Repeat("qa<|endoftext|>", strings.Count(string(chat.Messages), "assistant"))
				if chat.Generation {
					text += "q"
				}
				texts = append(texts, text)
			}
			return texts, nil
		}})
	require.NoError(t, err)
	for mask, want := range map[string]bool{"true": true, "false": false} {
		r := tiny(t, path, filepath.Join(t.TempDir(), "run"), "data.source=conversations", "data.split=none", "model.seq=24", "train.steps=1", "train.batch=1",
			"train.eval_every=0", "data.mask_documents="+mask)
		noted := false
		train(t, r, trainer.Options{Corpus: corpus, Report: &listener{onNote: func(line string) {
			noted = noted || strings.Contains(line, "data.mask_documents: 9 of the conversations")
		}}})
		require.Equal(t, want, noted, "data.mask_documents=%s", mask)
	}
}
