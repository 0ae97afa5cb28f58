package trainer_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// records are the contents of an event file's records.
func records(t *testing.T, out string) (all [][]byte) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(out, "events.out.tfevents.residua"))
	require.NoError(t, err)
	for len(file) > 0 {
		n := binary.LittleEndian.Uint64(file)
		all = append(all, file[12:12+n])
		file = file[16+n:]
	}
	return all
}

// TestEventsAreWritten: with train.tensorboard there is an event with each step's metrics and one
// with each sample, also after a resume from an older checkpoint; package tfevents tests the form.
func TestEventsAreWritten(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	sets := []string{"train.tensorboard=true", "sample={prompt: line, tokens: 3, every: 6}", "train.keep=9"}
	check := func(samples ...int) { // the records that hold samples
		all := records(t, out)
		require.Len(t, all, 1+12+2, "the version, steps, samples")
		assert.Contains(t, string(all[0]), "brain.Event:2")
		for i, r := range all[1:] {
			isSample := slices.Contains(samples, i)
			assert.Equal(t, !isSample, bytes.Contains(r, []byte("train/loss")), "record %d", i)
			assert.Equal(t, isSample, bytes.Contains(r, []byte("    line")), "record %d", i)
		}
		assert.Contains(t, string(all[4]), "validation/loss")
		assert.NotContains(t, string(all[5]), "validation/loss")
	}
	train(t, smallest(t, text, out, sets...), trainer.Options{})
	check(6, 13)
	train(t, smallest(t, text, out, sets...), trainer.Options{Resume: trainer.Resume(filepath.Join(out, "checkpoints", "step-00000009"))})
	check(9, 13) // rewritten: steps, then samples
	quiet := filepath.Join(t.TempDir(), "quiet")
	train(t, smallest(t, text, quiet, "train.steps=2"), trainer.Options{})
	assert.NoFileExists(t, filepath.Join(quiet, "events.out.tfevents.residua"))
}
