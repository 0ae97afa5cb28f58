package trainer_test

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// weightsLog returns the steps whose weights a run has kept, and the digests of all of their files.
func weightsLog(t *testing.T, out string) (steps []int, files map[string]string) {
	t.Helper()
	steps, err := checkpoint.LogSteps(out)
	require.NoError(t, err)
	files = tree(t, filepath.Join(out, "checkpoints"))
	maps.DeleteFunc(files, func(name, _ string) bool { return !strings.HasPrefix(name, "log-") })
	require.Len(t, files, 2*len(steps))
	return steps, files
}

// weightsAt returns the weights that a run has kept of a step.
func weightsAt(t *testing.T, out string, step int) []checkpoint.Tensor {
	t.Helper()
	m, err := pretrained.Open(checkpoint.LogPath(out, step))
	require.NoError(t, err)
	require.Equal(t, step, m.State.Step)
	return pretrained.Tensors(m.Store)
}

const keepLog = "train.keep_log=true"

// TestWeightsAreKept: with train.keep_log a run keeps the weights of some steps from the first to
// the last, learns the same and has the same checkpoints.
func TestWeightsAreKept(t *testing.T) {
	text, out, quiet := corpus(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "quiet")
	run := smallest(t, text, out, keepLog)
	train(t, run, trainer.Options{})
	train(t, smallest(t, text, quiet), trainer.Options{})
	require.Equal(t, losses(t, quiet), losses(t, out))
	require.Equal(t, last(t, quiet).Model, last(t, out).Model)
	require.Equal(t, last(t, quiet).State.ConfigDigest, last(t, out).State.ConfigDigest)

	kept, _ := weightsLog(t, out)
	require.Equal(t, []int{0, 1, 2, 4, 8, 12}, kept)
	require.ElementsMatch(t, append(steps(t, quiet), "log-0", "log-1", "log-2", "log-4", "log-8", "log-12"), steps(t, out))
	none, _ := weightsLog(t, quiet)
	require.Empty(t, none)

	initial := filepath.Join(t.TempDir(), "initial")
	tr, err := trainer.Open(t.Context(), smallest(t, text, initial), trainer.Options{})
	require.NoError(t, err)
	require.Equal(t, pretrained.Tensors(tr.Store()), weightsAt(t, out, 0))
	tr.Close()
	end, err := pretrained.Open(out)
	require.NoError(t, err)
	require.Equal(t, pretrained.Tensors(end.Store), weightsAt(t, out, 12))
	short := filepath.Join(t.TempDir(), "short")
	interrupt(t, smallest(t, text, short), 4, trainer.Options{})
	end, err = pretrained.Open(short)
	require.NoError(t, err)
	require.Equal(t, pretrained.Tensors(end.Store), weightsAt(t, out, 4))
}

// TestAResumedRunKeepsTheSameWeights: as an unbroken one, whatever broke it, bit for bit.
func TestAResumedRunKeepsTheSameWeights(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "whole")
	train(t, smallest(t, text, whole, keepLog), trainer.Options{})
	wantSteps, want := weightsLog(t, whole)
	same := func(t *testing.T, out string) {
		t.Helper()
		got, files := weightsLog(t, out)
		require.Equal(t, wantSteps, got)
		require.Equal(t, want, files)
	}
	for name, at := range map[string]int{"at a step of the log": 8, "between two": 5} {
		t.Run("interrupted "+name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			interrupt(t, smallest(t, text, out, keepLog), at, trainer.Options{})
			train(t, smallest(t, text, out, keepLog), trainer.Options{Resume: trainer.ResumeAuto})
			same(t, out)
		})
	}
	t.Run("more steps", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		train(t, smallest(t, text, out, keepLog, "train.schedule=constant", "train.steps=7"), trainer.Options{})
		kept, _ := weightsLog(t, out)
		require.Equal(t, []int{0, 1, 2, 4, 7}, kept)
		train(t, smallest(t, text, out, keepLog, "train.schedule=constant", "train.steps=9"), trainer.Options{Resume: trainer.ResumeAuto})
		kept, _ = weightsLog(t, out)
		require.Equal(t, []int{0, 1, 2, 4, 8, 9}, kept, "step 7 is no longer the last")
	})
	t.Run("stopped before the last step", func(t *testing.T) {
		for _, stop := range []string{"train.stop.tokens=300", "train.stop.loss=100"} { // 10 steps; the first validation
			out := filepath.Join(t.TempDir(), "run")
			r := train(t, smallest(t, text, out, keepLog, stop, "train.eval_every=6"), trainer.Options{})
			kept, _ := weightsLog(t, out)
			require.Equal(t, r.Steps, kept[len(kept)-1], stop)
			require.Equal(t, map[string]int{"train.stop.tokens=300": 10, "train.stop.loss=100": 6}[stop], r.Steps)
			train(t, smallest(t, text, out, keepLog, "train.eval_every=6"), trainer.Options{Resume: trainer.ResumeAuto})
			same(t, out)
		}
	})
	t.Run("anew from an earlier step", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "run")
		train(t, smallest(t, text, out, keepLog, "train.lr=1e-3", "train.keep=9"), trainer.Options{})
		other, _ := weightsLog(t, out)
		require.Equal(t, wantSteps, other)
		early := trainer.Resume(checkpoint.StepPath(out, 3))
		interrupt(t, smallest(t, text, out, "train.keep=9"), 5, trainer.Options{Resume: early})
		kept, _ := weightsLog(t, out)
		require.Equal(t, []int{0, 1, 2}, kept, "what was kept after step 3 is no longer this run's")
	})
}

// TestAFreshRunReplacesKeptWeights: a run that never made a step may have left its initial weights.
func TestAFreshRunReplacesKeptWeights(t *testing.T) {
	text, out, other := corpus(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
	ctx, cancel := context.WithCancel(t.Context())
	tr, err := trainer.Open(ctx, smallest(t, text, out, keepLog), trainer.Options{})
	require.NoError(t, err)
	cancel()
	_, err = tr.Run(ctx)
	require.Error(t, err)
	tr.Close()
	kept, _ := weightsLog(t, out)
	require.Equal(t, []int{0}, kept)
	train(t, smallest(t, text, out, keepLog, "seed=8"), trainer.Options{})
	train(t, smallest(t, text, other, keepLog, "seed=8"), trainer.Options{})
	_, want := weightsLog(t, other)
	_, got := weightsLog(t, out)
	require.Equal(t, want, got)
}

// TestKeptWeightsAreNoCheckpoint: they have no optimizer's state to go on from, but a run can start
// from them.
func TestKeptWeightsAreNoCheckpoint(t *testing.T) {
	text, out, next := corpus(t), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "next")
	train(t, smallest(t, text, out, keepLog), trainer.Options{})
	dir := checkpoint.LogPath(out, 8)
	before := tree(t, out)
	for _, o := range []trainer.Options{{Resume: trainer.Resume(dir)}, {Fork: dir}} {
		run := smallest(t, text, out)
		if o.Fork != "" {
			run = smallest(t, text, next)
		}
		_, err := tryTrain(t.Context(), run, o)
		require.ErrorContains(t, err, "log-8: want a step folder with optimizer and state, got a model alone: start from it with train.init_from")
	}
	require.Equal(t, before, tree(t, out))
	train(t, smallest(t, text, next, keepLog, "train.init_from="+dir), trainer.Options{})
	require.Equal(t, weightsAt(t, out, 8), weightsAt(t, next, 0))
}

// TestLogSizeIsPredicted: as many folders as the run then keeps, and about their bytes; and a
// warning says so before the first step if the disk has no room.
func TestLogSizeIsPredicted(t *testing.T) {
	text := corpus(t)
	predicted := func(run *runconfig.Run) trainer.LogSize {
		size, err := trainer.PredictLog(run)
		require.NoError(t, err)
		return size
	}
	require.Zero(t, predicted(smallest(t, text, "x")))
	for steps, want := range map[string]int{"1": 2, "3": 4, "4": 4, "512": 11, "600": 12, "1000": 12, "1001": 13, "3000": 14} {
		assert.Equal(t, want, predicted(smallest(t, text, "x", keepLog, "train.steps="+steps)).Steps, "%s steps", steps)
	}
	out := filepath.Join(t.TempDir(), "run")
	run := smallest(t, text, out, keepLog, "train.steps=1003", "train.eval_every=0", "train.checkpoint_every=0")
	train(t, run, trainer.Options{})
	kept, _ := weightsLog(t, out)
	require.Equal(t, []int{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1003}, kept)
	size := predicted(run)
	require.Equal(t, 13, size.Steps)
	require.Equal(t, 13*4*run.Spec().Cost().Parameters, size.Bytes)
	require.Regexp(t, `^the weights of 13 steps are kept, about \d+ KB on disk$`, size.String())

	heard := &listener{}
	large := smallest(t, text, filepath.Join(t.TempDir(), "large"), keepLog, "train.steps=1000000000", "model.feedforward.hidden=200000", "sample.tokens=0")
	ctx, cancel := context.WithCancel(t.Context())
	tr, err := trainer.Open(ctx, large, trainer.Options{Report: heard})
	require.NoError(t, err)
	defer tr.Close()
	cancel()
	_, err = tr.Run(ctx)
	require.Error(t, err)
	require.Len(t, heard.warnings, 1)
	require.Regexp(t, `^train.keep_log: the weights to come take about 13 TB, .*large has room for \d`, heard.warnings[0])
}
