package learner_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/trainer/learner"
)

// counting serves rows of one list, whose targets differ in number, in micro-batches of any size.
type counting struct {
	tokens, targets []int32
	at              int
}

func (c *counting) Next(tokens, targets []int32) error {
	copy(tokens, c.tokens[c.at:])
	copy(targets, c.targets[c.at:])
	c.at += len(tokens)
	return nil
}

func (c *counting) Targets(n int) []int {
	counts := make([]int, n)
	for i, rest := 0, c.targets[c.at:]; i < n; i++ {
		for _, target := range rest[i*len(rest)/n : (i+1)*len(rest)/n] {
			if target >= 0 {
				counts[i]++
			}
		}
	}
	return counts
}

// TestTargetsCountAlikeInAStep: with batches that are a Counter, steps of one micro-batch of eight
// rows, of two of four and of eight of one have the same loss and gradient, though their rows have
// between none and all of their targets. Without, they have not.
func TestTargetsCountAlikeInAStep(t *testing.T) {
	spec := small(t, func(c *models.Config) { c.Dropout = 0 })
	const all = 8
	var tokens, targets [all * seq]int32
	require.NoError(t, (&random{}).Next(tokens[:], targets[:]))
	for i := range targets {
		if i/seq < i%seq+1 {
			targets[i] = -1
		}
	}
	loss := func(batch int, counted bool) (float64, float64) {
		var b learner.Batches = &counting{tokens: tokens[:], targets: targets[:]}
		if !counted {
			b = learner.BatchFunc(b.Next)
		}
		l := open(t, spec, b, learner.Options{Batch: batch, Accumulate: all / batch})
		mean, err := l.Gradient(t.Context())
		require.NoError(t, err)
		stats, err := l.Update()
		require.NoError(t, err)
		return mean, stats.GradNorm
	}
	want, norm := loss(all, true)
	plain, _ := loss(all, false)
	require.Equal(t, plain, want)
	for _, batch := range []int{4, 1} {
		got, size := loss(batch, true)
		require.InDelta(t, want, got, 1e-6, batch)
		require.InEpsilon(t, norm, size, 1e-6, batch)
		_, size = loss(batch, false)
		require.Greater(t, math.Abs(size/norm-1), 1e-3, batch)
	}
}
