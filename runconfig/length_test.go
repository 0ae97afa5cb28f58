package runconfig

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stepText is a config whose step has 64 rows of 8 tokens, given by train.batch_tokens.
const stepText = "model: {stream: {kind: vector, d_model: 8}, layers: 1, attention: {heads: 2}, feedforward: {kind: gelu, hidden: 8}, seq: 8}\n" +
	"train: {steps: 10, lr: 1e-3, batch_tokens: 512%s}\n"

// TestBatchTokensSplitsAStep: the micro-batch is what the other key says, or as large as possible.
func TestBatchTokensSplitsAStep(t *testing.T) {
	for _, c := range []struct {
		keys, set string
		want      [2]int
	}{
		{"", "", [2]int{64, 1}},
		{", batch: 16", "", [2]int{16, 4}},
		{", accumulate: 4", "", [2]int{16, 4}},
		{", batch: 16, accumulate: 4", "", [2]int{16, 4}},
		{", batch: 16, accumulate: 4", "train.batch_tokens=1024", [2]int{128, 1}},
		{", batch: 16", "train.batch_tokens=256", [2]int{32, 1}},
	} {
		sets := []string{}
		if c.set != "" {
			sets = append(sets, c.set)
		}
		run, _, err := Parse(zoo, "x.yaml", fmt.Appendf(nil, stepText, c.keys), sets)
		require.NoError(t, err, c.keys)
		assert.Equal(t, c.want, [2]int{run.Train.Batch, run.Train.Accumulate}, c.keys+c.set)
		text, err := run.Text()
		require.NoError(t, err)
		again, _, err := Parse(zoo, "runs/x/config.yaml", text, nil)
		require.NoError(t, err, string(text))
		run.splitByMemory = false // the text gives the numbers
		assert.Equal(t, run, again)
	}
}

// TestBatchTokensFitsMemory: a machine with less memory makes more, smaller micro-batches of the
// same step, and a micro-batch has at most 16384 tokens.
func TestBatchTokensFitsMemory(t *testing.T) {
	run, where, err := Parse(zoo, "x.yaml", fmt.Appendf(nil, stepText, ""), nil)
	require.NoError(t, err)
	small := *run
	small.Train.Batch = 16
	need := small.MemoryNeed(run.Spec()).Total()
	require.NoError(t, run.splitStep(where, need))
	assert.Equal(t, [2]int{16, 4}, [2]int{run.Train.Batch, run.Train.Accumulate})
	require.NoError(t, run.splitStep(where, need-1))
	assert.Equal(t, [2]int{8, 8}, [2]int{run.Train.Batch, run.Train.Accumulate})
	require.NoError(t, run.splitStep(where, 0))
	assert.Equal(t, [2]int{1, 64}, [2]int{run.Train.Batch, run.Train.Accumulate})
	run.Train.BatchTokens = 8 * 6000
	require.NoError(t, run.splitStep(where, math.MaxInt))
	assert.Equal(t, [2]int{2000, 3}, [2]int{run.Train.Batch, run.Train.Accumulate})
}

func TestLengthRefusals(t *testing.T) {
	for keys, want := range map[string]string{
		", batch_tokens: 100":         "train.batch_tokens: want a multiple of model.seq, 8, got 100: take 96",
		", batch_tokens: 3":           "train.batch_tokens: want a multiple of model.seq, 8, got 3: take 8",
		", batch: 3":                  "train.batch_tokens: want a multiple of train.batch x model.seq, 3 x 8, got 512",
		", accumulate: 3":             "train.batch_tokens: want a multiple of train.accumulate x model.seq, 3 x 8, got 512",
		", batch: 8, accumulate: 9":   "train.batch_tokens: want train.batch x train.accumulate x model.seq, 8 x 9 x 8, got 512: leave one of the keys out",
		", stop: {time: \"10\"}":      `train.stop.time: want a time above 0 with its unit, such as 90m or 10h, got "10"`,
		", stop: {time: -1h}":         `train.stop.time: want a time above 0 with its unit, such as 90m or 10h, got "-1h"`,
		", stop: {tokens: -1}":        "train.stop.tokens: want >= 0, got -1",
		", stop: {flops: -1}":         "train.stop.flops: want >= 0, got -1",
		", stop: {loss: -0.5}":        "train.stop.loss: want >= 0, got -0.5",
		", batch: 0":                  "train.batch_tokens: want a multiple of train.batch x model.seq, 0 x 8, got 512",
		", batch_tokens: 99999999999": "train.batch_tokens: want ",
	} {
		text := fmt.Sprintf(stepText, keys)
		if len(keys) > 16 && keys[:15] == ", batch_tokens:" {
			text = "model: {preset: quickstart, seq: 8}\ntrain: {steps: 10, lr: 1e-3" + keys + "}\n"
		}
		_, _, err := Parse(zoo, "x.yaml", []byte(text), nil)
		require.Error(t, err, keys)
		assert.Contains(t, err.Error(), want, keys)
		assert.Contains(t, err.Error(), "x.yaml:2", keys)
	}
}
