package trainer_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// A single file is split, by default, into text for training and text for validation.
func TestRunOnOneFileIsEvaluatedOnItsEnd(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	r := train(t, tiny(t, corpus(t), out, "data.split=hash/20", "train.steps=3", "train.eval_every=2"), trainer.Options{Report: trainer.NewLines(&log, 1)})
	require.NotNil(t, r.Final)
	require.Contains(t, log.String(), "data.split: the corpus is one document: its last 1/20 is the validation split\n")
}

// The run trains on the whole of a file that is too short for a validation split, unless it is to
// evaluate.
func TestRunOnAShortFileLearnsFromAllOfIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "short.txt")
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte("text"), 16), 0o644)) // 65 tokens, batch 4 x seq 16 + 1
	out := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	r := train(t, tiny(t, path, out, "data.split=hash/20", "train.steps=3", "train.eval_every=0"), trainer.Options{Report: trainer.NewLines(&log, 1)})
	require.Nil(t, r.Final)
	require.Contains(t, log.String(), "too short to hold out 1/20 of it: there is no validation split")
	_, err := tryTrain(context.Background(), tiny(t, path, out+"2", "data.split=hash/20"), trainer.Options{})
	require.ErrorContains(t, err, "training split: want at least 65 tokens")
}

// Runs that began before the end of a single file was held out, or before files without an
// extension were read, continue with the same bits.
func TestRunsGoOnWithTheCorpusThatTheyBeganWith(t *testing.T) {
	one := corpus(t)
	text, err := os.ReadFile(one)
	require.NoError(t, err)
	folder := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text[len(text)/3:], 0o644))
	}
	for _, c := range []struct {
		path, was string // data.path, data.split that gives the text that the run learnt from
		change    func()
	}{
		{one, "none", func() {}},
		{folder, "hash/20", func() { require.NoError(t, os.WriteFile(filepath.Join(folder, "README"), text, 0o644)) }},
	} {
		whole, broken := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
		train(t, tiny(t, c.path, whole, "data.split="+c.was, "train.eval_every=0"), trainer.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		r, err := tryTrain(ctx, tiny(t, c.path, broken, "data.split="+c.was, "train.eval_every=0"), trainer.Options{Report: &stopper{at: 7, stop: cancel}})
		require.NoError(t, err)
		require.True(t, r.Interrupted)

		c.change()
		var log bytes.Buffer
		train(t, tiny(t, c.path, broken, "data.split=hash/20", "train.eval_every=0"), trainer.Options{Resume: trainer.ResumeAuto, Report: trainer.NewLines(&log, 50)})
		require.Contains(t, log.String(), "the corpus is read as it was when the run began")
		require.Equal(t, losses(t, whole), losses(t, broken))
		want, got := last(t, whole), last(t, broken)
		require.Equal(t, want.Model, got.Model)
		require.Equal(t, want.State.CorpusFingerprint, got.State.CorpusFingerprint)
	}
}
