package theory

import (
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models/check"
)

// rounded returns a number rounded to the given number of significant digits.
func rounded(v float64, digits int) float64 {
	text := strconv.FormatFloat(v, 'e', digits-1, 64)
	v, _ = strconv.ParseFloat(text, 64)
	return v
}

// Three readings of Tables 3 and 4: Table 7 as printed, what the printed FLOPs follow from, and
// what is right.
func TestTrainingFLOPs(t *testing.T) {
	table, err := NewTrainingFLOPs(PaperTraining())
	require.NoError(t, err)
	want := []struct{ printed, corrected float64 }{{1.18e19, 1.56e19}, {1.21e19, 1.23e19}, {7.12e18, 7.22e18}}
	for i, r := range table.Runs {
		assert.Equal(t, r.Paper, rounded(r.Implied, 3), "%s: the implied totals give the printed FLOPs", r.Name)
		assert.Equal(t, want[i].printed, rounded(r.Printed, 3), r.Name)
		assert.Equal(t, want[i].corrected, rounded(r.Corrected, 3), r.Name)
		assert.LessOrEqual(t, r.StepsLow, float64(r.Steps), r.Name)
		assert.GreaterOrEqual(t, r.StepsHigh, float64(r.Steps), r.Name)
		assert.Less(t, r.Exact, r.Corrected)
	}
	require.Len(t, table.Changes, 2)
	for i, want := range []struct{ fromPaper, corrected, exact float64 }{{-0.28, -0.21, -0.25}, {-0.58, -0.54, -0.56}} {
		c := table.Changes[i]
		assert.Equal(t, want.fromPaper, c.Paper)
		assert.InDelta(t, want.fromPaper, c.FromPaper, 0.005, c.Name)
		assert.InDelta(t, want.fromPaper, c.Implied, 0.01, c.Name)
		assert.InDelta(t, want.corrected, c.Corrected, 0.005, c.Name)
		assert.InDelta(t, want.exact, c.Exact, 0.005, c.Name)
	}
	// With 4 V R for 4 V R Dv and all else as printed the RMT's FLOPs are not those in print, and
	// no number of steps gives the FLOPs of both models.
	vector, err := count(mediumTransformer, map[string]int{"seq": 512})
	require.NoError(t, err)
	matrix, err := count(mediumRMT, map[string]int{"seq": 512})
	require.NoError(t, err)
	literal := matrix.FLOPs.Printed - 4*50257*16*(64-1)
	assert.Equal(t, []float64{8.44e18, 4.96e18}, []float64{rounded(flopsOf(literal, 46_000, 256, 512), 3), rounded(flopsOf(literal, 27_050, 256, 512), 3)})
	low, high := impliedSteps(1.18e19, vector.FLOPs.Printed, 256, 512)
	assert.Equal(t, [2]float64{45_614, 46_002}, [2]float64{math.Ceil(low), math.Floor(high)})
	low, high = impliedSteps(8.45e18, literal, 256, 512)
	assert.Equal(t, [2]float64{46_027, 46_080}, [2]float64{math.Ceil(low), math.Floor(high)})

	assert.InDelta(t, 0.02, table.Changes[0].Printed, 0.005, "Table 7 as printed would have the RMT take more than the transformer")
}

// The steps of batches of 256: the only multiple of 1,000 that the printed FLOPs of both models at
// equal tokens allow, the only one of 50 at equal loss.
func TestInferredSteps(t *testing.T) {
	in := PaperTraining()
	assert.Equal(t, []int{256, 512, 46_000, 27_050}, []int{in.Batch, in.Seq, in.Steps, in.EqualLossSteps})
	table, err := NewTrainingFLOPs(in)
	require.NoError(t, err)
	only := func(unit, low, high float64) float64 {
		assert.Equal(t, unit*math.Ceil(low/unit), unit*math.Floor(high/unit))
		return unit * math.Floor(high/unit)
	}
	runs := table.Runs
	assert.Equal(t, 46_000.0, only(1000, max(runs[0].StepsLow, runs[1].StepsLow), min(runs[0].StepsHigh, runs[1].StepsHigh)))
	assert.Equal(t, 27_050.0, only(50, runs[2].StepsLow, runs[2].StepsHigh))

	a, b := impliedSteps(1.18e19, 1000, 64, 512)
	assert.InDelta(t, 1.175e19, flopsOf(1000, 1, 64, 512)*a, 1e10)
	assert.InDelta(t, 1.185e19, flopsOf(1000, 1, 64, 512)*b, 1e10)
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

// Every other printed number with what its inputs give: section 3.1's doubled stream, Table 4's
// times, appendix C.4's tokens, the abstract's savings.
func TestClaims(t *testing.T) {
	claims, err := NewClaims(PaperTraining())
	require.NoError(t, err)
	want := []struct{ paper, computed, within float64 }{
		{1, 1, 1e-9}, {0.94, 0.9415, 0.0005}, {0.01, 0.0005, 0.00005}, {0.01, 0.0284, 0.00005},
		{0.04, 0.043, 0.0005}, {0.43, 0.77, 0.005},
		{1.86e5, 1.868e5, 50}, {3.30e5, 3.298e5, 50}, {1.94e5, 1.939e5, 50},
		{1.6e9, 0.164e9, 0.001e9}, {5000, 50_000, 2_000},
		{2.5, 8. / 3, 1e-9}, {4, 4, 1e-9}, {-0.33, -0.331, 0.0005}, {-0.33, -0.3325, 0.0005},
		{0.01, 0.0004, 0.00005}, {0.01, 0.0235, 0.0005}, {135e6, 134.2e6, 0.05e6}, {135e6, 134.4e6, 0.05e6},
		{-0.25, -0.25, 0.005}, {-0.41, -0.41, 0.005},
	}
	require.Len(t, claims.Claims, len(want))
	for i, c := range claims.Claims {
		assert.Equal(t, want[i].paper, c.Paper, c.Name)
		assert.InDelta(t, want[i].computed, c.Computed, want[i].within, c.Name)
		if c.Unit == "seconds" {
			assert.InEpsilon(t, c.Paper, c.Computed, 0.005, "%s: the times agree with the steps", c.Name)
		}
	}
	assert.Contains(t, claims.Claims[2].Reading, "+0.12%")
	assert.Regexp(t, `twice the stream +section 3\.1 +\+1\.0% +\+0\.05% `, claims.Table().Text())
	assert.Contains(t, claims.Claims[3].Reading, "+1.5% by Table 7 as printed, +2.1% by the totals")
	assert.Contains(t, claims.Claims[5].Reading, "+43.4%")
	assert.Contains(t, claims.Claims[12].Reading+claims.Claims[11].Reading, "2.67, 2.67, 3.43, 4")
	assert.Equal(t, "a bound that holds, with norm gains too: +0.11%", claims.Claims[15].Reading)
	assert.Contains(t, claims.Claims[16].Reading, "+1.2% by Table 7 as printed")
}
