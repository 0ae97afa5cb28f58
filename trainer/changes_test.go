package trainer_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// changed returns the lines of a log about changes in the config.
func changed(log string) []string {
	var lines []string
	for _, line := range strings.Split(log, "\n") {
		if _, change, found := strings.Cut(line, "changed in the config: "); found {
			lines = append(lines, change)
		}
	}
	return lines
}

func TestResumingSaysWhatChangedInTheConfig(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	resume := func(sets ...string) []string {
		log.Reset()
		train(t, tiny(t, text, out, sets...), trainer.Options{Resume: trainer.ResumeAuto, Report: trainer.NewLines(&log, 100)})
		return changed(log.String())
	}
	require.Empty(t, resume("train.steps=3"), "a new run has no past")
	require.Empty(t, resume("train.steps=3"), "nothing has changed")
	require.Equal(t, []string{"train.steps: 3 -> 5", "train.lr: 0.01 -> 0.001"}, resume("train.steps=5", "train.lr=1e-3"))
	require.Empty(t, resume("train.steps=5", "train.lr=1e-3"), "config.yaml holds the change")

	require.NoError(t, os.WriteFile(filepath.Join(out, "config.yaml"), []byte("train: {lr: fast}\n"), 0o644))
	require.Empty(t, resume("train.steps=5", "train.lr=1e-3"))
	require.Contains(t, log.String(), "warning: what has changed in the config is not known: ")
}

func TestARunsConfigCanBeRunAtAnotherRate(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	train(t, tiny(t, text, out, "train.steps=3"), trainer.Options{})
	again, _, err := runconfig.Load(models.Standard(), filepath.Join(out, "config.yaml"), []string{"train.lr=1e-4"})
	require.NoError(t, err)
	require.Equal(t, 1e-5, again.Train.MinLR)
}
