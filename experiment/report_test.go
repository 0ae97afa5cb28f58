package experiment

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/mixing"
	"github.com/residua-go/residua/stream"
)

// lines is an experiment whose log is made up.
type lines struct {
	*testing.T
	plan *Plan
}

func newLines(t *testing.T, text string) lines {
	t.Helper()
	return lines{t, settled(t, parsed(t, text), t.TempDir())}
}

// Report reports runs of the plan, which series, point, seed and rate name.
func (l lines) Report(log []Record) *Report {
	l.Helper()
	l.plan.log = map[string]Record{}
	for _, r := range log {
		for _, c := range l.plan.cells {
			if c.series == r.Series && c.point.Label == r.Point {
				planned, err := c.at(r.Rate, r.Seed)
				require.NoError(l, err)
				r.Run, r.Config = planned.Name, planned.identity
			}
		}
		l.plan.log[r.Run] = r
	}
	report, err := l.plan.reportOfLog()
	require.NoError(l, err)
	return report
}

// TestScalingFindsThePowerLaw: of losses without noise, and what the second series needs of the
// first one's.
func TestScalingFindsThePowerLaw(t *testing.T) {
	c := newLines(t, "series: [{name: a}, {name: b}]\nexperiment: {kind: scaling, sizes: {a: [[model.layers=1], [model.layers=2], [model.layers=3]], b: [[model.layers=1], [model.layers=2], [model.layers=3]]}}")
	var log []Record
	for i, size := range []string{"size1", "size2", "size3"} {
		n := 1000 * math.Pow(4, float64(i))
		at := Record{Point: size, Parameters: int(n) + 50, Tables: 50, FLOPs: int(6 * n), Tokens: int64(20 * n), Seconds: n}
		a, b := at, at
		a.Series, a.Loss = "a", eval.Number(9*math.Pow(n, -0.2))
		b.Series, b.Loss = "b", eval.Number(9*math.Pow(2*n, -0.2)) // as good with half of the parameters
		log = append(log, a, b)
	}
	r := c.Report(log)
	text := r.Text()
	assert.Regexp(t, `a +non-embedding parameters +9 +0\.2000 +0\.2000 to 0\.2000\n`, text)
	assert.Regexp(t, `a +training FLOPs +\S+ +0\.1000 `, text)
	assert.Regexp(t, `\nb +non-embedding parameters +0\.50 +0\.50 to 0\.50\nb +training FLOPs +0\.25 +0\.25 to 0\.25\nb +tokens +0\.50 `, text)
	assert.Regexp(t, `\nb +non-embedding parameters +0\.000 +- to - +7\.835 +0\.2000 +\+0\.0000 +- to -\n`, text, "with one seed nothing is known of the error")
	assert.NotContains(t, text, "runs are complete")
	panels := r.Picture.(figure.Panels)
	require.Len(t, panels.Charts, 4)
	assert.Len(t, panels.Charts[0].Series, 4)

	text = c.Report(log[:3]).Text()
	assert.Contains(t, text, "3 of 6 runs are complete.")
	assert.Contains(t, text, "no fit: want three runs or more")
	assert.Contains(t, text, "Exponents over tokens, E fitted: no fit: ")

	log[4].Loss = eval.Number(math.NaN())
	text = c.Report(log).Text()
	assert.Contains(t, text, "a size3: all runs diverged, and the laws leave it out.")
	assert.Contains(t, text, "Exponents over tokens, E fitted: no fit: ", "five places, five parameters")
	assert.NotContains(t, text, "Exponents over tokens, E fixed: no fit: ")
}

// TestScalingComparesExponents: two seeds around two laws above 1 give intervals, for an E that is
// fitted and for an E of 0.
func TestScalingComparesExponents(t *testing.T) {
	c := newLines(t, "seeds: 2\nseries: [{name: a}, {name: b}]\nexperiment: {kind: scaling, sizes: {a: [[model.layers=1], [model.layers=2], [model.layers=3]], b: [[model.layers=1], [model.layers=2], [model.layers=3]]}}")
	var log []Record
	for i := range 3 {
		n := 1000 * math.Pow(4, float64(i))
		for seed := range 2 {
			at := Record{Point: fmt.Sprint("size", i+1), Seed: uint64(seed), Parameters: int(n), FLOPs: int(6 * n), Tokens: int64(20 * n), Seconds: n}
			a, b := at, at
			noise := 1 + 0.001*float64(2*seed-1)
			a.Series, a.Loss = "a", eval.Number(noise*(1+9*math.Pow(n, -0.2)))
			b.Series, b.Loss = "b", eval.Number(noise*(1+20*math.Pow(n, -0.3)))
			log = append(log, a, b)
		}
	}
	text := c.Report(log).Text()
	rows := regexp.MustCompile(`(?m)^b +non-embedding parameters +(\S+) +(\S.*?) +\S+ +0\.\d+ +(\S+) +(\S+) to (\S+)$`).FindAllStringSubmatch(text, -1)
	require.Len(t, rows, 2, text)
	parse := func(s string) float64 {
		v, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err)
		return v
	}
	var low, high float64
	_, err := fmt.Sscanf(rows[0][2], "%g to %g", &low, &high)
	require.NoError(t, err)
	assert.True(t, 0 < low && low < 1 && 1 < high && high < 1.5, rows[0][2])
	assert.InDelta(t, 1, parse(rows[0][1]), 0.05)
	assert.InDelta(t, 0.1, parse(rows[0][3]), 0.02)
	assert.Equal(t, []string{"0.000", "fixed"}, rows[1][1:3])
	for _, r := range rows {
		assert.Less(t, parse(r[4]), parse(r[3]))
		assert.Less(t, parse(r[3]), parse(r[5]))
	}
}

// TestReachInterpolates: between the evaluations around the loss, with the share of the first
// series'.
func TestReachInterpolates(t *testing.T) {
	c := newLines(t, "series: [{name: a}, {name: b}, {name: never}]\nexperiment: {kind: reach}")
	evaluations := func(losses ...float64) (all []Evaluation) {
		for i, l := range losses {
			all = append(all, Evaluation{Tokens: int64(i+1) * 1e6, Seconds: float64(10 * (i + 1)), Loss: eval.Number(l)})
		}
		return all
	}
	r := c.Report([]Record{
		{Series: "a", FLOPs: 1e6, Parameters: 2e6, Memory: 4e6, Loss: 2, Evaluations: evaluations(4, 3, 2.5, 2)},
		{Series: "b", FLOPs: 2e6, Parameters: 1e6, Memory: 2e6, Loss: 1, Evaluations: evaluations(3, 1, 1, 1)},
		{Series: "never", FLOPs: 2e6, Parameters: 1e6, Memory: 2e6, Loss: 3, Evaluations: evaluations(4, 4, 4, 3)},
	})
	text := r.Text()
	assert.Contains(t, text, "To the last loss of a with the same seed, 2.0000 on average")
	assert.Regexp(t, `\na +1 of 1 +2 +4 +4 +40 +4\n`, text)
	assert.Regexp(t, `\nb +1 of 1 +1 \(50%\) +1\.5 \(38%\) +3 \(75%\) +15 \(38%\) +2 \(50%\)\n`, text)
	assert.Regexp(t, `\nnever +0 of 1 +1 \(50%\) +- +- +- +2 \(50%\)\n`, text)
	fixed := newLines(t, "series: [{name: a}]\nexperiment: {kind: reach, target: 2.75}").Report([]Record{{Series: "a", Loss: 2, Evaluations: evaluations(4, 3, 2.5, 2)}})
	assert.Regexp(t, `^To the loss 2\.7500: (?s:.*)\na +1 of 1 +0 +2\.5 +0 +25 `, fixed.Text())
	seeds := newLines(t, "seeds: 2\nseries: [{name: a}, {name: b}]\nexperiment: {kind: reach, target: 2}").Report([]Record{
		{Series: "a", Evaluations: evaluations(4, 3, 2.5, 2)}, {Series: "a", Seed: 1, Evaluations: evaluations(4, 3, 2.5, 2)},
		{Series: "b", Evaluations: evaluations(2)}, {Series: "b", Seed: 1, Evaluations: evaluations(4, 3, 2)},
	})
	assert.Regexp(t, `\nb +2 of 2 .* 2 ± 1 \(50% ± 25%\)`, seeds.Text(), "25%% and 75%%")
	panels := r.Picture.(figure.Panels)
	assert.Equal(t, figure.Numbers{2, 4, 6, 8}, panels.Charts[1].Series[1].X, "TFLOP of series b")
	assert.Equal(t, "a's last loss", panels.Charts[0].Series[3].Name)
}

// TestVariantsArePaired: differences are of runs with one seed; a run that diverged is left out.
func TestVariantsArePaired(t *testing.T) {
	c := newLines(t, "seeds: 4\nseries: [{name: a}, {name: b}]\nexperiment: {kind: variants}")
	var log []Record
	for i, loss := range []float64{2.0, 2.1, 1.9, 2.0} {
		seed := uint64(i)
		log = append(log, Record{Series: "a", Seed: seed, Loss: eval.Number(loss), Seconds: 1, Jobs: 2}, Record{Series: "b", Seed: seed, Loss: eval.Number(loss + 0.1 + 0.01*float64(i)), Jobs: 2})
	}
	report := c.Report(log)
	assert.InDeltaSlice(t, []float64{0.115}, report.Picture.(figure.Bars).Values, 1e-9)
	text := report.Text()
	assert.Regexp(t, `\nb +4 +\+0\.1150 ± 0\.0065 +\+5\.75% +0\.0129 +0\.00039\n`, text)
	// 1% of 2 is 0.02: (t(0.975) + t(0.8))^2 (0.0129/0.02)^2 with 5 degrees of freedom is 5.1, with
	// 4 it is 5.8; unpaired 7.85 (0.0816^2 + 0.0785^2)/0.02^2 is 252 with normal quantiles
	assert.Regexp(t, `\nb +0\.0816 +0\.0785 +0\.0129 +0\.0073 to 0\.0481 +6 +4 to 48 +253\n`, text)
	assert.Contains(t, text, "measured with 2 runs side by side")
	log[3].Loss = eval.Number(math.NaN())
	assert.Regexp(t, `\nb +3 +\+`, c.Report(log).Text())
}

// TestDifferencesWaitForTheFirst: while the first cell, of which differences and shares are taken,
// has no runs, no other cell takes its place.
func TestDifferencesWaitForTheFirst(t *testing.T) {
	c := newLines(t, "series: [{name: a}, {name: b}, {name: c}]\nexperiment: {kind: variants}")
	ends := []Record{{Series: "b", Loss: 2}, {Series: "c", Loss: 2.5}}
	assert.NotContains(t, c.Report(ends).Text(), "Differences from the first")
	assert.Regexp(t, `(?s)Differences from the first.*\nb +1 +\+1\.0000.*\nc +1 +\+1\.5000`, c.Report(append(ends, Record{Series: "a", Loss: 1})).Text())

	c = newLines(t, "series: [{name: a}, {name: b}]\nexperiment: {kind: sweep, key: model.layers, values: [1, 2, 3]}")
	ends = []Record{{Series: "a", Point: "2", Loss: 2}, {Series: "a", Point: "3", Loss: 1.5}, {Series: "b", Point: "1", Loss: 2}, {Series: "b", Point: "2", Loss: 1}}
	text := c.Report(ends).Text()
	assert.NotRegexp(t, `\na 3 +1 +-`, text)
	assert.Regexp(t, `\nb 2 +1 +-1\.0000`, text)

	c = newLines(t, "series: [{name: a}, {name: b}, {name: c}]\nexperiment: {kind: reach, target: 2.5}")
	way := func(tokens int64) []Evaluation {
		return []Evaluation{{Tokens: tokens, Seconds: 1, Loss: 3}, {Tokens: 2 * tokens, Seconds: 2, Loss: 2}}
	}
	ends = []Record{{Series: "b", Loss: 2, Evaluations: way(1e6)}, {Series: "c", Loss: 2, Evaluations: way(2e6)}}
	assert.NotContains(t, c.Report(ends).Text(), "%)")
	assert.Contains(t, c.Report(append(ends, Record{Series: "a", Loss: 2, Evaluations: way(4e6)})).Text(), "(25%)")
}

// TestVariantsTellRisesAndMoves: of runs that were evaluated on the way and logged their
// coefficients, the largest rise above the lowest loss before it, and the root mean square of a
// kind's moves.
func TestVariantsTellRisesAndMoves(t *testing.T) {
	c := newLines(t, "seeds: 2\nseries: [{name: a}, {name: b}]\nexperiment: {kind: variants, evaluations: 3}")
	up := []Evaluation{{Loss: 3}, {Loss: 2}, {Loss: 2.75}, {Loss: 2.5}}
	moved := []mixing.Brief{{Name: "x", Kind: stream.MixingCarry, Moved: 0.3}, {Name: "x", Kind: stream.MixingUp, Moved: 0.5}, {Name: "y", Kind: stream.MixingCarry, Moved: 0.4}}
	text := c.Report([]Record{{Series: "a", Evaluations: up, Mixing: moved}, {Series: "a", Seed: 1, Evaluations: up[:2]}, {Series: "b"}}).Text()
	assert.Regexp(t, `\na +1 of 2 +0\.75, 0\.00\n`, text)
	assert.Regexp(t, `\na +A_res +0\.354\na +B_up +0\.5\n`, text)
	assert.NotRegexp(t, `\nb +\d of`, text)
	up[1].Loss = eval.Number(math.NaN())
	assert.Regexp(t, `\na +1 of 1 +\+Inf\n`, c.Report([]Record{{Series: "a", Evaluations: up}}).Text(), "a loss that is not finite is above all others")

	c = newLines(t, "series: [{name: a}]\nexperiment: {kind: sweep, key: model.layers, values: [1, 2]}")
	assert.Regexp(t, `\na 1 +A_res +0\.354\n`, c.Report([]Record{{Series: "a", Point: "1", Mixing: moved}}).Text())
}

// TestSearchListsTheBest: of each series, by loss.
func TestSearchListsTheBest(t *testing.T) {
	c := newLines(t, "series: [{name: a}, {name: b}]\nexperiment: {kind: search, draws: 3, ranges: {train.lr: [1e-3, 1e-1]}}")
	r := c.Report([]Record{
		{Series: "a", Point: "draw1", Loss: 3}, {Series: "a", Point: "draw2", Loss: 2}, {Series: "a", Point: "draw3", Loss: eval.Number(math.NaN())},
		{Series: "b", Point: "draw1", Loss: 1}, {Series: "other", Point: "draw1", Loss: 0},
	})
	assert.Regexp(t, `(?s)\na +2 +2\.0000 +0\.\d+\na +1 +3\.0000 +0\.\d+\nb +1 +1\.0000 .*4 of 6 runs are complete\.\na: 1 of 3 draws diverged\.`, r.Text())
}
