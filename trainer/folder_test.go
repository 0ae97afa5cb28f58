package trainer_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/trainer"
)

// at calls a function after a step.
type at struct {
	trainer.Silent
	step int
	call func()
}

func (a *at) Step(m trainer.Metrics) {
	if m.Step == a.step {
		a.call()
	}
}

func TestAFolderThatGoesAwayEndsTheRunWithAnError(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows moves no folder with open files")
	}
	text := corpus(t)
	t.Run("moved", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		report := &at{step: 5, call: func() { require.NoError(t, os.Rename(out, out+"-moved")) }}
		_, err := tryTrain(context.Background(), smallest(t, text, out), trainer.Options{Report: report})
		wantError(t, err, &trainer.FolderError{Out: out})
		dir, _, err := checkpoint.Latest(out)
		require.NoError(t, err)
		require.Equal(t, "step-00000006", filepath.Base(dir), "what was trained until then is not lost")
	})
	t.Run("removed at the end", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		report := &at{step: 12, call: func() { require.NoError(t, os.RemoveAll(out)) }}
		_, err := tryTrain(context.Background(), smallest(t, text, out), trainer.Options{Report: report})
		require.Error(t, err)
	})
	t.Run("replaced", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		report := &at{step: 5, call: func() {
			require.NoError(t, os.Rename(out, out+"-moved"))
			require.NoError(t, os.Mkdir(out, 0o755))
		}}
		_, err := tryTrain(context.Background(), smallest(t, text, out), trainer.Options{Report: report})
		wantError(t, err, &trainer.FolderError{Out: out, Replaced: true})
		entries, err := os.ReadDir(out)
		require.NoError(t, err)
		require.Empty(t, entries, "another's folder is left alone")
	})
}

func TestWhatAKilledRunLeftIsRemoved(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	interrupt(t, smallest(t, text, out), 5, trainer.Options{})
	whole := tree(t, out)
	for _, name := range []string{".tmp-metrics.jsonl-0123abcd", ".tmp-config.yaml-0123abcd", ".tmp-loss.svg-0123abcd", ".tmp-best.json-0123abcd",
		"checkpoints/.tmp-step-00000007/model.safetensors", "checkpoints/.tmp-step-00000007-0123abcd/model.safetensors", "checkpoints/step-00000004/.tmp-state.json-0123abcd"} {
		path := filepath.Join(out, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("half"), 0o644))
	}
	mine := filepath.Join(out, ".tmp-of-mine")
	require.NoError(t, os.WriteFile(mine, nil, 0o644))
	tr, err := trainer.Open(context.Background(), smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
	require.NoError(t, err)
	tr.Close()
	require.FileExists(t, mine, "only what this program makes")
	require.NoError(t, os.Remove(mine))
	require.Equal(t, whole, tree(t, out))
}

func TestARateIsAlwaysFinite(t *testing.T) {
	_, err := json.Marshal(trainer.PerSecond(1<<20, 0))
	require.NoError(t, err)
}

// TestWhatIsRefusedLeavesNothing: a refused run leaves no folder of its own, no folders around it,
// and no lock in an existing folder.
func TestWhatIsRefusedLeavesNothing(t *testing.T) {
	text, other := corpus(t), filepath.Join(t.TempDir(), "other")
	train(t, smallest(t, text, other, "model.layers=2"), trainer.Options{})
	for name, c := range map[string]struct {
		sets []string
		o    trainer.Options
	}{
		"no such checkpoint":      {o: trainer.Options{Resume: "none-such"}},
		"another run's":           {o: trainer.Options{Resume: trainer.Resume(other)}},
		"a fork of another model": {o: trainer.Options{Fork: other}},
		"no such weights":         {sets: []string{"train.init_from=none-such"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, err := tryTrain(context.Background(), smallest(t, text, filepath.Join(dir, "a", "b", "run"), c.sets...), c.o)
			require.Error(t, err)
			require.NoDirExists(t, filepath.Join(dir, "a"))
			mine := filepath.Join(dir, "mine")
			require.NoError(t, os.Mkdir(mine, 0o755))
			for _, file := range []string{"", "notes.txt"} {
				want := []string(nil)
				if file != "" {
					require.NoError(t, os.WriteFile(filepath.Join(mine, file), nil, 0o644))
					want = []string{file}
				}
				_, err := tryTrain(context.Background(), smallest(t, text, mine, c.sets...), c.o)
				require.Error(t, err)
				entries, err := os.ReadDir(mine)
				require.NoError(t, err)
				var got []string
				for _, e := range entries {
					got = append(got, e.Name())
				}
				require.Equal(t, want, got)
			}
		})
	}
}

// deleter deletes files after a step.
type deleter struct {
	listener
	step  int
	files []string
}

func (d *deleter) Step(m trainer.Metrics) {
	if m.Step == d.step {
		for _, file := range d.files {
			_ = os.Remove(file)
		}
	}
}

// TestFilesDeletedDuringARun: what a run appends to is whole at its next checkpoint, and the user
// is told.
func TestFilesDeletedDuringARun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows deletes no open files")
	}
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	run := smallest(t, text, out, "sample={tokens: 4, every: 2}", "train.tensorboard=true")
	report := &deleter{step: 5}
	for _, name := range []string{"metrics.jsonl", "samples.jsonl", "events.out.tfevents.residua"} {
		report.files = append(report.files, filepath.Join(out, name))
	}
	_, err := tryTrain(context.Background(), run, trainer.Options{Report: report})
	require.NoError(t, err)
	require.Len(t, report.warnings, 3)
	require.Contains(t, report.warnings[1], "metrics.jsonl: it was deleted, moved or replaced while it was written: all that it held is written anew")
	metrics, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	require.Len(t, metrics, 12)
	samples, err := trainer.ReadSamples(out)
	require.NoError(t, err)
	require.Len(t, samples, 6)
	require.FileExists(t, report.files[2])
}
