package eval_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/layers"
)

// TestTally: each grouping contains every token once, in the right group, and adds up to the score.
func TestTally(t *testing.T) {
	store, spec := tiny(t) // windows of 6
	text := textOf(t, "abcab", false)
	text.Tokens = data.NewTokens(257, append(text.Tokens.IDs(), 256, 'x', 'a', 'b', 256, 'y')) // two more documents
	tally := eval.NewTally(text, spec.Seq)
	var tokens []eval.Token
	score, err := eval.Evaluate(context.Background(), store, spec, text, eval.Options{PerToken: func(token eval.Token) error {
		tokens = append(tokens, token)
		return tally.Add(token)
	}})
	require.NoError(t, err)
	require.Equal(t, 11, score.Tokens)
	for by, want := range map[string]map[int][]int{ // key -> indices of its tokens
		eval.ByPosition: {1: {1, 7}, 2: {2, 8}, 3: {3, 9}, 4: {4, 10}, 5: {5, 11}, 6: {6}},
		eval.ByToken:    {'a': {1, 4, 8}, 'b': {2, 5, 9}, 'c': {3}, 256: {6, 10}, 'x': {7}, 'y': {11}},
		eval.ByDocument: {1: {1, 2, 3, 4, 5, 6}, 2: {7, 8, 9, 10}, 3: {11}},
	} {
		groups, err := tally.Groups(by)
		require.NoError(t, err)
		require.Len(t, groups, len(want), by)
		share, last := 0.0, -1
		for _, g := range groups {
			assert.Greater(t, g.Key, last, by)
			last = g.Key
			sum, squares, n := 0.0, 0.0, float64(len(want[g.Key]))
			for _, i := range want[g.Key] {
				sum += float64(tokens[i-1].Loss)
			}
			for _, i := range want[g.Key] {
				squares += math.Pow(float64(tokens[i-1].Loss)-sum/n, 2)
			}
			assert.Equal(t, len(want[g.Key]), g.Tokens, "%s %d", by, g.Key)
			assert.InEpsilon(t, sum/n, g.Loss, 1e-12, "%s %d", by, g.Key)
			if n > 1 {
				assert.InDelta(t, math.Sqrt(squares/(n-1)/n), g.Error, 1e-9, "%s %d", by, g.Key)
			} else {
				assert.True(t, math.IsNaN(g.Error))
			}
			share += g.Share
		}
		assert.InDelta(t, 1, share, 1e-12)
	}
	documents, err := tally.Groups(eval.ByDocument)
	require.NoError(t, err)
	assert.Equal(t, []string{"abcab", "xab", "y"}, []string{documents[0].Text, documents[1].Text, documents[2].Text})
	assert.Equal(t, 1, eval.Largest(documents, 2)[0].Key)
	assert.Len(t, eval.Largest(documents, 9), 3)
	ids, err := tally.Groups(eval.ByToken)
	require.NoError(t, err)
	assert.Equal(t, "a", ids[0].Text)
	assert.True(t, math.IsNaN(ids[len(ids)-1].BitsPerByte), "BOS has no text")
	_, err = tally.Groups("letter")
	var bad *layers.SettingError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "by", bad.Key)
}

// TestBootstrap: the error of a mean is the standard deviation over the root of n; the same seed
// gives the same error.
func TestBootstrap(t *testing.T) {
	values := make([]float64, 200)
	mean, squares := 0.0, 0.0
	for i := range values {
		values[i] = 1e6 + math.Sin(float64(i*i))
		mean += values[i] / 200
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	statistic := func(units []int) []float64 {
		sum := 0.0
		for _, u := range units {
			sum += values[u]
		}
		return []float64{sum / float64(len(units)), 1}
	}
	got := eval.Bootstrap(len(values), 4000, 1, statistic)
	assert.InEpsilon(t, math.Sqrt(squares/200/200), got[0], 0.05)
	assert.Zero(t, got[1])
	assert.Equal(t, got, eval.Bootstrap(len(values), 4000, 1, statistic))
	assert.NotEqual(t, got, eval.Bootstrap(len(values), 4000, 2, statistic))
	assert.True(t, math.IsNaN(eval.Bootstrap(1, 0, 1, statistic)[0]))
}

// TestStdErrIsOverWindows: the error is 0 if all windows have the same score, and unknown for a
// single window.
func TestStdErrIsOverWindows(t *testing.T) {
	store, spec := tiny(t)
	text := textOf(t, "", false)
	for range 4 {
		text.Tokens = data.NewTokens(257, append(text.Tokens.IDs(), 'a', 'b', 'c', 'd', 'e', 256))
	}
	of := func(n int) eval.Score {
		some := *text
		some.Tokens = text.Tokens.Slice(0, n)
		tally := eval.NewTally(&some, spec.Seq)
		_, err := eval.Evaluate(context.Background(), store, spec, &some, eval.Options{PerToken: tally.Add})
		require.NoError(t, err)
		return tally.StdErr(50, 1)
	}
	assert.InDelta(t, 0, of(25).Loss, 1e-6)
	assert.Positive(t, of(22).Loss, "the last window is shorter")
	assert.True(t, math.IsNaN(of(7).Loss))

	tally := eval.NewTally(text, spec.Seq) // as of conversations, of which only answers are scored
	for _, window := range []int{0, 2} {
		require.NoError(t, tally.Add(eval.Token{Index: window*spec.Seq + 1, Loss: float32(window)}))
	}
	assert.InDelta(t, 1/math.Sqrt2, tally.StdErr(0, 1).Loss, 0.05, "the window without a scored token is none of the units")
}
