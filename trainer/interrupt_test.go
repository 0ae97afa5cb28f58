package trainer_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/countdown"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/trainer"
)

// TestAnInterruptAtAnyMomentCostsNoBit: while programs are compiled, and until the first step is
// complete, an interrupted run ends with the context's error and without a checkpoint. Later the
// unfinished step is discarded and the last complete one saved, and the resumed run continues with
// the same bits.
func TestAnInterruptAtAnyMomentCostsNoBit(t *testing.T) {
	text, sets := corpus(t), []string{"train.accumulate=3", "train.steps=6", "train.eval_every=4"}
	whole, ctx := filepath.Join(t.TempDir(), "run"), countdown.New(1<<20)
	_, err := tryTrain(ctx, smallest(t, text, whole, sets...), trainer.Options{})
	require.NoError(t, err)
	asked, moments, saved := 1<<20-ctx.Left, 9, map[int]int{}
	switch {
	case longtest.Exhaustive():
		moments = 300
	case longtest.Enabled():
		moments = 30
	}
	for i := range moments {
		out := filepath.Join(t.TempDir(), "run")
		ctx.Left = i * asked / moments
		r, err := tryTrain(ctx, smallest(t, text, out, sets...), trainer.Options{})
		require.Less(t, ctx.Left, 0)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			_, _, err := checkpoint.Latest(out)
			require.ErrorIs(t, err, checkpoint.ErrNone)
			saved[0]++
			continue
		}
		require.True(t, r.Interrupted)
		require.Equal(t, r.Steps, last(t, out).State.Step)
		saved[r.Steps]++
		train(t, smallest(t, text, out, sets...), trainer.Options{Resume: trainer.ResumeAuto})
		require.Equal(t, losses(t, whole), losses(t, out), "interrupted in step %d", r.Steps+1)
		requireSameCheckpoint(t, last(t, whole), last(t, out))
	}
	require.Len(t, saved, 6, "within each step: %v", saved)
}
