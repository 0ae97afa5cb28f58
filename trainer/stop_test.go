package trainer_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/trainer"
)

// TestStopEndsARun: a run ends at the first step that reaches a limit; the rate follows the
// schedule of the whole run. The state names the key and the step. A resumed run stays ended, and
// continues once the limit is raised.
func TestStopEndsARun(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "whole")
	train(t, smallest(t, text, whole), trainer.Options{})
	want, err := trainer.ReadMetrics(whole)
	require.NoError(t, err)
	flops := float64(smallest(t, text, whole).Spec().Cost().TrainFLOPs())
	for _, c := range []struct {
		limit string
		key   string
		at    int
	}{
		{"tokens: 150", "train.stop.tokens", 5}, // a step has 32 tokens
		{"flops: " + number(flops*32*6.5), "train.stop.flops", 7},
		{"loss: " + number(float64(*want[7].ValLoss)+1e-6), "train.stop.loss", 8},
		{"time: 1ns", "train.stop.time", 1},
	} {
		t.Run(c.key, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			stop := "train.stop={" + c.limit + "}"
			r := train(t, smallest(t, text, out, stop), trainer.Options{})
			assert.Equal(t, []any{c.at, c.key, false}, []any{r.Steps, r.Stopped, r.Interrupted})
			require.NotNil(t, r.Final, "the last step is validated")
			got, err := trainer.ReadMetrics(out)
			require.NoError(t, err)
			require.Len(t, got, c.at)
			for i, m := range got {
				assert.Equal(t, []any{want[i].Loss, want[i].LR}, []any{m.Loss, m.LR})
			}
			assert.JSONEq(t, `{"key": "`+c.key+`", "step": `+number(float64(c.at))+`}`, string(last(t, out).State.Extra["stopped"]))

			r = train(t, smallest(t, text, out, stop), trainer.Options{Resume: trainer.ResumeAuto})
			assert.Equal(t, []any{c.at, c.key}, []any{r.Steps, r.Stopped})
			r = train(t, smallest(t, text, out), trainer.Options{Resume: trainer.ResumeAuto})
			assert.Equal(t, []any{12, ""}, []any{r.Steps, r.Stopped})
			require.Equal(t, want[11].Loss, r.Last.Loss)
		})
	}
}

func TestStopByLossWantsValidation(t *testing.T) {
	_, err := trainer.Open(context.Background(), smallest(t, corpus(t), filepath.Join(t.TempDir(), "run"), "train.stop.loss=1", "train.eval_every=0"), trainer.Options{})
	require.ErrorContains(t, err, "train.stop.loss: want validation text and train.eval_every >= 1")
}

// TestEstimateChangesNothing: an estimate does not change the run that follows, and a dry run
// leaves no folder.
func TestEstimateChangesNothing(t *testing.T) {
	for _, optim := range []string{"{kind: adamw}", "{kind: muon}"} {
		estimateChangesNothing(t, "train.accumulate=2", "model.dropout=0.1", "train.optim="+optim, "device.precision=bf16")
	}
}

func estimateChangesNothing(t *testing.T, sets ...string) {
	text, plain, estimated := corpus(t), filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "estimated")
	train(t, smallest(t, text, plain, sets...), trainer.Options{})
	tr, err := trainer.Open(t.Context(), smallest(t, text, estimated, sets...), trainer.Options{})
	require.NoError(t, err)
	defer tr.Close()
	e, err := tr.Estimate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 12, e.Steps)
	assert.Equal(t, 12*64*float64(smallest(t, text, plain).Spec().Cost().TrainFLOPs()), e.FLOPs)
	assert.Positive(t, e.Update)
	assert.Greater(t, e.Time, 23*e.MicroBatch+12*e.Update, "24 micro-batches, and validation")
	assert.Less(t, e.Time, 40*e.MicroBatch+13*e.Update)
	assert.Regexp(t, `^12 steps, \S+ [kMG]FLOP, about \S+ s on this machine$`, e.String())
	_, err = tr.Run(t.Context())
	require.NoError(t, err)
	assert.Equal(t, losses(t, plain), losses(t, estimated))
	e, err = tr.Estimate(t.Context())
	require.NoError(t, err)
	assert.Zero(t, e, "nothing is left to do")

	out := filepath.Join(t.TempDir(), "none", "run")
	dry, err := trainer.Open(t.Context(), smallest(t, text, out, "train.stop={tokens: 150}"), trainer.Options{Dry: true})
	require.NoError(t, err)
	defer dry.Close()
	e, err = dry.Estimate(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 5, e.Steps)
	_, err = os.Stat(filepath.Dir(out))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestEstimateWithHighLimits: a limit of FLOPs that the run does not reach changes nothing.
func TestEstimateWithHighLimits(t *testing.T) {
	for _, flops := range []string{"1e12", "1e28", "1e300"} {
		dry, err := trainer.Open(t.Context(), smallest(t, corpus(t), filepath.Join(t.TempDir(), "run"), "train.stop={flops: "+flops+"}"), trainer.Options{Dry: true})
		require.NoError(t, err)
		defer dry.Close()
		e, err := dry.Estimate(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 12, e.Steps, flops)
	}
}

// TestEstimateUntilFLOPsAreReached: a run makes the step with which it reaches a limit of FLOPs,
// also where the step before was less than a token short of it.
func TestEstimateUntilFLOPsAreReached(t *testing.T) {
	text, out := corpus(t), filepath.Join(t.TempDir(), "run")
	flops := 32 * float64(smallest(t, text, out).Spec().Cost().TrainFLOPs()) // of a step
	for limit, steps := range map[float64]int{6 * flops: 6, 6*flops + 1: 7} {
		dry, err := trainer.Open(t.Context(), smallest(t, text, out, "train.stop={flops: "+number(limit)+"}"), trainer.Options{Dry: true})
		require.NoError(t, err)
		defer dry.Close()
		e, err := dry.Estimate(t.Context())
		require.NoError(t, err)
		assert.Equal(t, steps, e.Steps, limit)
	}
}

// microListener records reports of micro-batches.
type microListener struct {
	listener
	parts [][2]int
}

func (l *microListener) Micro(done, of int) { l.parts = append(l.parts, [2]int{done, of}) }

// TestMicroBatchesAreReported: a reporter that shows micro-batches is told of each.
func TestMicroBatchesAreReported(t *testing.T) {
	var heard microListener
	train(t, smallest(t, corpus(t), filepath.Join(t.TempDir(), "run"), "train.accumulate=3", "train.steps=2"), trainer.Options{Report: &heard})
	assert.Equal(t, [][2]int{{1, 3}, {2, 3}, {3, 3}, {1, 3}, {2, 3}, {3, 3}}, heard.parts)
}

// number writes a number without the plus of an exponent.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// TestRanksStopTogether: all ranks end at the same step as a run of one, whichever rank reaches the
// limit.
func TestRanksStopTogether(t *testing.T) {
	text, whole := corpus(t), filepath.Join(t.TempDir(), "whole")
	trainRanks(t, 1, text, whole, trainer.Options{})
	all, err := trainer.ReadMetrics(whole)
	require.NoError(t, err)
	for limit, at := range map[string]int{
		"tokens: 1100": 9, // a step has 128 tokens
		"loss: " + number(float64(*all[11].ValLoss)+1e-4): 12,
		"time: 1ns": 1,
	} {
		out := filepath.Join(t.TempDir(), "run")
		r := trainRanks(t, 2, text, out, trainer.Options{}, "train.stop={"+limit+"}")
		assert.Equal(t, at, r.Steps, limit)
		assert.NotEmpty(t, r.Stopped)
		r = trainRanks(t, 2, text, out, trainer.Options{Resume: trainer.ResumeAuto}, "train.stop={"+limit+"}")
		assert.Equal(t, at, r.Steps, limit)
	}
}
