package theory

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/check"
)

// rounded is a number to so many significant digits, as print has it.
func rounded(v float64, digits int) float64 {
	text := strconv.FormatFloat(v, 'e', digits-1, 64)
	v, _ = strconv.ParseFloat(text, 64)
	return v
}

func TestTrainingFLOPs(t *testing.T) {
	table, err := NewTrainingFLOPs(PaperTraining())
	require.NoError(t, err)
	corrected := []float64{1.56e19, 1.23e19, 7.2e18}
	for i, r := range table.Runs {
		assert.Equal(t, r.Paper, rounded(r.Printed, 3), "%s: the printed formula gives the printed FLOPs", r.Name)
		digits := 3
		if i == 2 {
			digits = 2
		}
		assert.Equal(t, corrected[i], rounded(r.Corrected, digits), r.Name)
		assert.LessOrEqual(t, r.StepsLow, float64(r.Steps), r.Name)
		assert.GreaterOrEqual(t, r.StepsHigh, float64(r.Steps), r.Name)
		assert.Less(t, r.Exact, r.Corrected)
	}
	require.Len(t, table.Changes, 2)
	for i, want := range []struct{ fromPaper, corrected, exact float64 }{{-0.28, -0.21, -0.25}, {-0.58, -0.54, -0.56}} {
		c := table.Changes[i]
		assert.Equal(t, want.fromPaper, c.Paper)
		assert.InDelta(t, want.fromPaper, c.FromPaper, 0.005, c.Name)
		assert.InDelta(t, want.fromPaper, c.Printed, 0.01, c.Name)
		assert.InDelta(t, want.corrected, c.Corrected, 0.005, c.Name)
		assert.InDelta(t, want.exact, c.Exact, 0.005, c.Name)
	}
}

// The inferred steps are the only multiple of 1,000 that the printed FLOPs of both models allow.
func TestInferredSteps(t *testing.T) {
	in := PaperTraining()
	table, err := NewTrainingFLOPs(in)
	require.NoError(t, err)
	low := max(table.Runs[0].StepsLow, table.Runs[1].StepsLow)
	high := min(table.Runs[0].StepsHigh, table.Runs[1].StepsHigh)
	assert.Equal(t, 1000*math.Ceil(low/1000), 1000*math.Floor(high/1000))
	assert.Equal(t, float64(in.Steps), 1000*math.Floor(high/1000))
	assert.Equal(t, float64(in.EqualLossSteps), 100*math.Ceil(table.Runs[2].StepsLow/100))

	a, b := ImpliedSteps(1.18e19, 1000, 64, 512)
	assert.InDelta(t, 1.175e19, FLOPsOf(1000, 1, 64, 512)*a, 1e10)
	assert.InDelta(t, 1.185e19, FLOPsOf(1000, 1, 64, 512)*b, 1e10)
}

func TestTrainingFLOPsRefuses(t *testing.T) {
	in := PaperTraining()
	in.Steps = 0
	_, err := NewTrainingFLOPs(in)
	assert.ErrorIs(t, err, check.ValueError{Name: "training"})
	in = PaperTraining()
	in.Matrix = "rmt"
	_, err = NewTrainingFLOPs(in)
	assert.ErrorContains(t, err, `got "rmt"`)
	_, err = NewClaims(in)
	assert.ErrorContains(t, err, `got "rmt"`)
}

func TestClaims(t *testing.T) {
	claims, err := NewClaims(PaperTraining())
	require.NoError(t, err)
	require.Len(t, claims.Claims, 5)
	want := []struct{ computed, within float64 }{{0.77, 0.005}, {0.164e9, 0.001e9}, {50_000, 2_000}, {-0.25, 0.005}, {-0.41, 0.005}}
	for i, c := range claims.Claims {
		assert.InDelta(t, want[i].computed, c.Computed, want[i].within, c.Name)
	}
	assert.Contains(t, claims.Claims[0].Reading, "+43.4%")
}
