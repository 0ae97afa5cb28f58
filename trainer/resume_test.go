package trainer_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/trainer"
)

// A run whose checkpoints have no identity, metrics or validation of their own, as those of
// earlier programs.
func TestARunOfAnEarlierProgramGoesOn(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "whole")
	final := train(t, smallest(t, text, whole), trainer.Options{})
	for _, stop := range []int{5, 8, 12} {
		out := filepath.Join(t.TempDir(), "run")
		if stop < 12 {
			interrupt(t, smallest(t, text, out), stop, trainer.Options{})
		} else {
			train(t, smallest(t, text, out), trainer.Options{})
		}
		before := losses(t, out)
		old := last(t, out).State
		old.Run, old.Extra, old.BestStep, old.GoodStep, old.ConfigDigest = "", nil, nil, nil, ""
		require.NoError(t, checkpoint.Amend(out, old))
		report := &listener{}
		r := train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto, Report: report})
		require.Empty(t, report.warnings)
		require.Equal(t, final.Final, r.Final, "stopped at %d", stop)
		require.Equal(t, losses(t, whole), losses(t, out))
		require.Equal(t, before, losses(t, out)[:stop])
		require.Equal(t, last(t, whole).Model, last(t, out).Model)
		dir, loss, err := checkpoint.Best(out)
		require.NoError(t, err)
		step, best := bestOf(t, whole)
		require.Equal(t, []any{step, best}, []any{last(t, filepath.Dir(filepath.Dir(dir))).State.Step, loss})
	}
}

// The run goes on from before its best step, at a rate that makes that step a bad one.
func TestBestTellsOfTheWeightsThatAreThere(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	train(t, smallest(t, text, out), trainer.Options{})
	step, good := bestOf(t, out)
	require.Equal(t, 12, step)
	require.NotContains(t, steps(t, out), "step-00000008", "the best before it is gone")
	back := trainer.Resume(filepath.Join(out, "checkpoints", "step-00000009"))
	r := train(t, smallest(t, text, out, "train.lr=3"), trainer.Options{Resume: back})
	require.Greater(t, r.Final.Loss, good+1)
	_, loss, err := checkpoint.Best(out)
	require.NoError(t, err)
	require.Equal(t, r.Final.Loss, loss)
}
