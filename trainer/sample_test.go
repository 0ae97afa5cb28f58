package trainer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// TestSamplesAreKept: with sample.every N, samples.jsonl has what the model wrote every N steps and
// at the end. It is the same after an interrupt and a resume, and after a resume from an older
// checkpoint. Training is the same as without samples.
func TestSamplesAreKept(t *testing.T) {
	text, whole, broken := corpus(t), filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
	sets := []string{"sample={prompt: line, tokens: 12, every: 5}", "train.keep=9"}
	var said listener
	train(t, smallest(t, text, whole, sets...), trainer.Options{Report: &said})
	want, err := trainer.ReadSamples(whole)
	require.NoError(t, err)
	require.Len(t, want, 3)
	assert.Equal(t, []int{5, 10, 12}, []int{want[0].Step, want[1].Step, want[2].Step})
	assert.EqualValues(t, 5*32, want[0].Tokens)
	assert.True(t, strings.HasPrefix(want[0].Text, "line") && len(want[0].Text) > 8, want[0].Text)
	assert.NotEqual(t, want[0].Text, want[2].Text, "the model has learned between the two")
	assert.Contains(t, strings.Join(said.notes, "\n"), "step 10  sample: line")

	interrupt(t, smallest(t, text, broken, sets...), 5, trainer.Options{})
	require.NoError(t, os.Remove(filepath.Join(broken, "samples.jsonl"))) // as if the run had been killed before it
	train(t, smallest(t, text, broken, sets...), trainer.Options{Resume: trainer.ResumeAuto})
	got, err := trainer.ReadSamples(broken)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	train(t, smallest(t, text, broken, sets...), trainer.Options{Resume: trainer.Resume(filepath.Join(broken, "checkpoints", "step-00000009"))})
	got, err = trainer.ReadSamples(broken)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	train(t, smallest(t, text, broken, append(sets, "train.steps=11")...), trainer.Options{Resume: trainer.Resume(filepath.Join(broken, "checkpoints", "step-00000009"))})
	got, err = trainer.ReadSamples(broken)
	require.NoError(t, err)
	require.Len(t, got, 3, "those of steps after the checkpoint are gone")
	assert.Equal(t, 11, got[2].Step)

	quiet := filepath.Join(t.TempDir(), "quiet")
	train(t, smallest(t, text, quiet), trainer.Options{})
	assert.NoFileExists(t, filepath.Join(quiet, "samples.jsonl"))
	with, err := trainer.ReadMetrics(whole)
	require.NoError(t, err)
	without, err := trainer.ReadMetrics(quiet)
	require.NoError(t, err)
	assert.Equal(t, without[11].Loss, with[11].Loss)
}

// TestReadSamplesStopsAtATornLine: a killed run may leave an incomplete last line.
func TestReadSamplesStopsAtATornLine(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "samples.jsonl"), []byte("{\"step\":1,\"text\":\"a\"}\n{\"step\":2,\"te"), 0o644))
	all, err := trainer.ReadSamples(dir)
	require.NoError(t, err)
	assert.Len(t, all, 1)
}
