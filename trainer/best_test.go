package trainer_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/trainer"
)

func TestBestIsKept(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	train(t, tiny(t, corpus(t), out, "train.keep=1", "train.lr=0.05", "train.steps=40"), trainer.Options{})
	dir, loss, err := checkpoint.Best(out)
	require.NoError(t, err)
	c, err := checkpoint.Load(dir)
	require.NoError(t, err)
	require.NotNil(t, c.State.BestLoss)
	require.InDelta(t, loss, *c.State.BestLoss, 0, "best.json names the loss of its step")
}

// bestOf returns the step with the smallest validation loss in the metrics.
func bestOf(t *testing.T, out string) (step int, loss float64) {
	t.Helper()
	lines, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	loss = math.Inf(1)
	for _, m := range lines {
		if m.ValLoss != nil && float64(*m.ValLoss) < loss {
			step, loss = m.Step, float64(*m.ValLoss)
		}
	}
	return step, loss
}

// A run is resumed that was killed after it had saved its best step and before it had marked it.
func TestTheBestIsMarkedAfterACrashHasCostTheMark(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, path string, old []byte){
		"an older mark": func(t *testing.T, path string, old []byte) { require.NoError(t, os.WriteFile(path, old, 0o644)) },
		"damaged":       func(t *testing.T, path string, old []byte) { require.NoError(t, os.WriteFile(path, old[:9], 0o644)) },
		"gone":          func(t *testing.T, path string, _ []byte) { require.NoError(t, os.Remove(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			text, out := corpus(t), filepath.Join(t.TempDir(), "run")
			sets := []string{"train.keep=1", "train.steps=40", "train.checkpoint_every=1", "train.lr=0.01"}
			interrupt(t, smallest(t, text, out, sets...), 5, trainer.Options{})
			mark := filepath.Join(out, "best.json")
			old, err := os.ReadFile(mark)
			require.NoError(t, err)
			interrupt(t, smallest(t, text, out, sets...), 9, trainer.Options{Resume: trainer.ResumeAuto})
			step, loss := bestOf(t, out)
			require.Equal(t, 8, step)
			spoil(t, mark, old)
			interrupt(t, smallest(t, text, out, sets...), 11, trainer.Options{Resume: trainer.ResumeAuto})
			dir, marked, err := checkpoint.Best(out)
			require.NoError(t, err)
			require.Equal(t, "step-00000008", filepath.Base(dir))
			require.Equal(t, loss, marked)
		})
	}
}

// The run continues from before its best step, at a rate that makes that step a bad one.
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

// This rate ruins the weights after 20 good steps.
func TestDivergenceKeepsTheLastGoodCheckpoint(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	sets := []string{"train.eval_every=0", "train.checkpoint_every=2", "train.warmup=0", "train.clip=0", "train.weight_decay=0"}
	train(t, smallest(t, text, out, append(sets, "train.steps=20")...), trainer.Options{})
	diverging := smallest(t, text, out, append(sets, "train.steps=60")...)
	diverging.Train.LR = 1e38 // more than a config may have
	_, err := tryTrain(context.Background(), diverging, trainer.Options{Resume: trainer.ResumeAuto})
	var diverged *trainer.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.Equal(t, 10, diverged.InRow)
	good := filepath.Join(out, "checkpoints", "step-00000020")
	require.Equal(t, good, diverged.Good)
	require.NoError(t, checkpoint.Verify(good))
	r, err := tryTrain(context.Background(), smallest(t, text, out, append(sets, "train.steps=30")...), trainer.Options{Resume: trainer.Resume(good)})
	require.NoError(t, err)
	require.Equal(t, 30, r.Steps)
	lines, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	for _, m := range lines {
		require.False(t, m.Skipped, "step %d", m.Step)
	}
}
