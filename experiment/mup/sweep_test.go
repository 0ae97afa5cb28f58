package mup

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/trainer"
)

func TestBestPassesOverDivergence(t *testing.T) {
	nan := trainer.Number(math.NaN())
	assert.Equal(t, trainer.Number(2), best([]float64{1, 2, 3}, []trainer.Number{5, 4, nan}))
	assert.Equal(t, trainer.Number(3), best([]float64{1, 2, 3}, []trainer.Number{nan, nan, 7}))
	assert.False(t, best([]float64{1}, []trainer.Number{nan}).Finite())
}

// TestSweep: the muP base is the standard base, bit for bit; each width's best rate is that of its
// lowest loss; a rate far too high is worse.
func TestSweep(t *testing.T) {
	var told []SweepWidth
	s, err := SweepRates(context.Background(), scaling(t, "matrix"), SweepOptions{Widths: []int{1, 2}, Steps: 12, Rates: []float64{1e-6, 1e-2, 1e30},
		Set:  append(experimenttest.Text(t), "model.layers=1", "model.seq=8", "model.stream.dk=8", "model.stream.rank=2", "model.feedforward.hidden=32"),
		Done: func(w SweepWidth) { told = append(told, w) }})
	require.NoError(t, err)
	assert.Len(t, told, 4)
	assert.Equal(t, 12*8*8, s.Tokens)
	require.Len(t, s.Widths, 4)
	assert.Equal(t, s.Widths[0].Losses[:2], s.Widths[2].Losses[:2], "muP and standard at x1")
	assert.NotEqual(t, s.Widths[1].Losses[1], s.Widths[3].Losses[1], "muP and standard at x2")
	for _, w := range s.Widths {
		assert.Equal(t, trainer.Number(1e-2), w.Best)
		assert.Less(t, float64(w.Losses[1]), float64(w.Losses[0]))
		assert.False(t, w.Losses[2].Finite())
	}
	text := s.Table().Text()
	assert.Regexp(t, `\n +lr +muP x1 +muP x2 +standard x1 +standard x2\n`, text)
	assert.Regexp(t, `\n +best lr +0\.01 +0\.01 +0\.01 +0\.01\n`, text)
	panels := SweepFigure([]*Sweep{s})
	require.Len(t, panels.Charts, 2)
	assert.Equal(t, "width x2", panels.Charts[1].Series[1].Name)
}
