package trainer_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/trainer"
)

// hyper lists the settings that give a run dynamic hyper-connections.
var hyper = []string{"model.stream={kind: hyper, n: 2, dynamic: true, d_model: 16}", "model.attention={heads: 2, positions: alibi}", "train.log_mixing=2"}

// TestMixingIsLogged: with train.log_mixing N, the run logs every N steps and at the last step how
// far coefficients have moved, also after a resume. This does not change what the run learns, and
// analyze reads it.
func TestMixingIsLogged(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	interrupt(t, smallest(t, text, out, hyper...), 3, trainer.Options{})
	train(t, smallest(t, text, out, hyper...), trainer.Options{Resume: trainer.ResumeAuto})
	all, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	var logged []int
	last := 0.0
	for _, m := range all {
		if len(m.Mixing) > 0 {
			logged, last = append(logged, m.Step), m.Mixing[0].Moved
		}
	}
	require.NotEmpty(t, logged)
	for i, step := range logged[:len(logged)-1] {
		assert.Equal(t, 2*(i+1), step)
	}
	assert.Equal(t, all[len(all)-1].Step, logged[len(logged)-1])
	assert.Positive(t, last, "the coefficients have moved")
	history, err := mixing.ReadHistory(out)
	require.NoError(t, err)
	assert.Len(t, history, len(logged))

	quiet := filepath.Join(t.TempDir(), "quiet")
	train(t, smallest(t, text, quiet, append(hyper, "train.log_mixing=0")...), trainer.Options{})
	others, err := trainer.ReadMetrics(quiet)
	require.NoError(t, err)
	for i, m := range others {
		assert.Equal(t, all[i].Loss, m.Loss)
		assert.Empty(t, m.Mixing)
	}
}

// TestMixingOfADivergedRun: a run whose activations are no longer finite logs its steps and ends as
// one that has diverged, whatever its coefficients are.
func TestMixingOfADivergedRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	tr, err := trainer.Open(t.Context(), smallest(t, corpus(t), out, append(hyper, "train.log_mixing=1", "train.max_bad_steps=2")...), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	tr.Store().Param("blocks.0.attention.o").Value.Float32s()[0] = float32(math.Inf(1))
	_, err = tr.Run(t.Context())
	var diverged *trainer.DivergedError
	require.ErrorAs(t, err, &diverged)
	all, err := trainer.ReadMetrics(out)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.NotEmpty(t, all[0].Mixing, "of the sites before")
}

func TestMixingIsRefusedWhereThereIsNone(t *testing.T) {
	for _, o := range []trainer.Options{{}, {Dry: true}} {
		run := smallest(t, corpus(t), filepath.Join(t.TempDir(), "run"), "train.log_mixing=1")
		_, err := trainer.Open(context.Background(), run, o)
		require.ErrorIs(t, err, mixing.ErrNone)
		assert.ErrorContains(t, err, "train.log_mixing: ")
	}
}
