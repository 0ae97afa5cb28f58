package trainer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestOpenRefuses: a run that cannot be trained gives an error that names the problem, and changes
// nothing.
func TestOpenRefuses(t *testing.T) {
	text := corpus(t)
	done := filepath.Join(t.TempDir(), "done")
	train(t, tiny(t, text, done, "train.steps=2"), trainer.Options{})
	padded := filepath.Join(t.TempDir(), "padded")
	train(t, tiny(t, text, padded, "train.steps=1", "model.vocab=300"), trainer.Options{})
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	for name, c := range map[string]struct {
		run  *runconfig.Run
		want string
	}{
		"not a folder": {tiny(t, text, filepath.Join(file, "run")), "out: want a folder that can be written"},
		"no text":      {tiny(t, file+"x", t.TempDir()+"/a"), file + "x"},
		"short text":   {tiny(t, text, t.TempDir()+"/b", "train.batch=10000"), "lower train.batch or model.seq"},
		"bad init":     {tiny(t, text, t.TempDir()+"/c", "train.init_from="+file), "train.init_from: "},
		"foreign init": {tiny(t, text, t.TempDir()+"/d", "train.init_from="+done, "model.layers=3"), "model.layers: want 3, got 2"},
		"padded init":  {tiny(t, text, t.TempDir()+"/e", "train.init_from="+padded), "model.vocab: want 257, got 300: train with -set model.vocab=300, which has ids to spare"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tryTrain(context.Background(), c.run, trainer.Options{})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := tryTrain(context.Background(), tiny(t, text, done), trainer.Options{})
	wantError(t, err, &trainer.RunExistsError{Out: done})
	require.Len(t, losses(t, done), 2, "a refused run changes nothing")
}

// TestResumeRefuses: if the config or the text differs from the checkpoint's, the error names the
// key that differs.
func TestResumeRefuses(t *testing.T) {
	text := corpus(t)
	done := filepath.Join(t.TempDir(), "done")
	train(t, tiny(t, text, done, "train.steps=2"), trainer.Options{})
	other := filepath.Join(t.TempDir(), "other.txt")
	require.NoError(t, os.WriteFile(other, bytes.Repeat([]byte("other text "), 300), 0o644))
	for _, c := range []struct {
		key string
		run *runconfig.Run
	}{
		{"model", tiny(t, text, done, "model.feedforward.hidden=32")},
		{"model", tiny(t, text, done, "model.norm=rmsnorm")},
		{"seed", tiny(t, text, done, "seed=8")},
		{"train.batch", tiny(t, text, done, "train.batch=2")},
		{"train.accumulate", tiny(t, text, done, "train.batch=2", "train.accumulate=2")},
		{"data.mask_documents", tiny(t, text, done, "data.mask_documents=true")},
		{"data", tiny(t, other, done)},
		{"train.steps", tiny(t, text, done, "train.steps=1")},
	} {
		_, err := tryTrain(context.Background(), c.run, trainer.Options{Resume: trainer.ResumeAuto})
		wantKey(t, err, c.key)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := tryTrain(context.Background(), tiny(t, text, done, "model.feedforward.hidden=32"), trainer.Options{Resume: trainer.ResumeAuto})
	require.EqualError(t, err, "-resume auto: the checkpoint is of another model: model.feedforward.hidden: want 32, got 24")
	require.Len(t, losses(t, done), 2, "a refused run changes nothing")
}

// wantError requires an error of the type of want, with its fields.
func wantError[T error](t *testing.T, err error, want T) {
	t.Helper()
	var got T
	require.ErrorAs(t, err, &got)
	require.Equal(t, want, got)
}

// wantKey requires a ResumeError for a key.
func wantKey(t *testing.T, err error, key string) {
	t.Helper()
	var got *trainer.ResumeError
	require.ErrorAs(t, err, &got)
	require.Equal(t, key, got.Key)
}

func TestFolderInUse(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	tr, err := trainer.Open(context.Background(), tiny(t, text, out), trainer.Options{Resume: trainer.ResumeNone})
	require.NoError(t, err)
	_, err = tryTrain(context.Background(), tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	tr.Close()
	train(t, tiny(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
}

// TestBadSteps: a run whose every step is NaN stops with an error and keeps its last good
// checkpoint.
func TestBadSteps(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	run := tiny(t, corpus(t), out, "train.clip=0", "train.warmup=0", "train.max_bad_steps=3", "train.checkpoint_every=1", "train.eval_every=0", "train.weight_decay=0")
	run.Train.LR = 1e38 // more than a config may have
	var all []trainer.Metrics
	_, err := tryTrain(context.Background(), run, trainer.Options{Report: &collector{into: &all}})
	var diverged *trainer.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.Equal(t, 3, diverged.InRow)
	require.Regexp(t, `^step \d+: loss \S+, gradient norm \S+: not finite for 3 steps in a row \(train.max_bad_steps\): take a lower train.lr or a longer train.warmup; `, err.Error())
	skipped := 0
	for _, m := range all {
		if m.Skipped {
			skipped++
		}
	}
	require.Equal(t, 3, skipped)
	c := last(t, out)
	require.Less(t, c.State.Step, all[len(all)-1].Step)
}
