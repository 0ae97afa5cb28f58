package experiment

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Lengths compares two series that other studies have trained for several lengths, each with a
// schedule of its own: how many tokens Against needs for the loss that Of reaches, and the reverse
// (docs/protocol.md, part 8). Its own series are one length more, at one point each.
type Lengths struct {
	Plain
	Of          string   `yaml:"of" default:"required" help:"the first series, whose tokens count as one"`
	Against     string   `yaml:"against" default:"required" help:"the second series, whose tokens are counted in those of the first"`
	With        []string `yaml:"with" help:"configs of further studies with these series, each at other lengths"`
	TestOf      int64    `yaml:"test_of" help:"test whether the first series, after this many tokens, ends lower than the second after test_against; 0: no test"`
	TestAgainst int64    `yaml:"test_against" help:"tokens of the second series in that test"`
}

// Name returns "lengths".
func (Lengths) Name() string { return "lengths" }

// Check returns an error unless both lengths of the test are given, or none.
func (l Lengths) Check(c *Config) error {
	if (l.TestOf > 0) != (l.TestAgainst > 0) {
		return c.where.Errorf("experiment.test_against", "want tokens for test_of and test_against, or for neither, got %d and %d", l.TestOf, l.TestAgainst)
	}
	return nil
}

func (l Lengths) Report(r *Results) (out Report) {
	all := slices.Clone(r.cells)
	for _, file := range l.With {
		results, err := resultsOf(r.plan.zoo, file)
		if err != nil {
			out.Notes = append(out.Notes, "Without "+file+": "+err.Error())
			continue
		}
		all = append(all, results.cells...)
	}
	of, against := lengthsOf(all, l.Of), lengthsOf(all, l.Against)
	chart := figure.Lines{XLabel: "tokens", YLabel: "validation loss (nats a token)", LogX: true}
	for _, cells := range [][]Result{of, against} {
		if len(cells) > 0 {
			part := Results{cells: cells}
			line := part.line(cells[0].series, func(c Result) float64 { return float64(c.runs[0].Tokens) })
			line.Points, line.Marks = false, true
			chart.Series = append(chart.Series, line)
		}
	}
	out.Tables = []figure.Table{(&Results{cells: append(slices.Clone(against), of...)}).Table("Means over seeds, ± standard errors"),
		l.ratios(of, against), l.test(of, against)}
	out.Picture = chart
	return out
}

// lengthsOf returns the complete cells of a series, the shortest runs first.
func lengthsOf(all []Result, series string) (cells []Result) {
	for _, c := range all {
		if c.series == series && len(c.todo) == 0 && !math.IsNaN(c.loss()) {
			cells = append(cells, c)
		}
	}
	slices.SortStableFunc(cells, func(a, b Result) int { return cmp.Compare(a.runs[0].Tokens, b.runs[0].Tokens) })
	return cells
}

// curveOf returns how many tokens a series needs for a loss.
func curveOf(cells []Result) (all curve) {
	for _, c := range cells {
		all = all.with(c)
	}
	return all
}

// ratios shows R(L) = T_against(L) / T_of(L) at each mean loss L, interpolating log tokens linearly
// over the loss, and the range of R as L moves by a standard error to both sides.
func (l Lengths) ratios(of, against []Result) figure.Table {
	t := figure.NewTable(fmt.Sprintf("R: tokens that %s needs for a loss, over those that %s needs", l.Against, l.Of), "lrrrr",
		"read at the mean of", "tokens", "loss (nats)", "R", "where the mean moves by ± 1 standard error")
	add := func(cells []Result, other curve, inverse bool) {
		for _, c := range cells {
			e, tokens := stats.Mean(c.losses()), float64(c.runs[0].Tokens)
			read := func(loss float64) string { return ratio(other, loss, tokens, inverse) }
			t.Row(c.series, figure.Thousands(c.runs[0].Tokens), estimate(c.losses(), "%.4f"), read(e.Mean), read(e.Mean+e.Error)+" to "+read(e.Mean-e.Error))
		}
	}
	add(of, curveOf(against), false)
	add(against, curveOf(of), true)
	return t
}

// ratio formats a curve's factor at a loss, with its bound, or the inverse of the factor.
func ratio(other curve, loss, tokens float64, inverse bool) string {
	factor, bound := other.factor(loss, tokens)
	if math.IsNaN(factor) {
		return "-"
	}
	if inverse {
		factor, bound = 1/factor, map[string]string{"< ": "> ", "> ": "< "}[bound]
	}
	return fmt.Sprintf("%s%.2f", bound, factor)
}

// test asks whether the runs of Of end below those of Against, seed by seed. A run that diverged
// counts as worse than all others.
func (l Lengths) test(of, against []Result) figure.Table {
	t := figure.NewTable("Test: loss of the first minus the second, same seed; p of the sign-flip test that it is below 0", "lrrrrr",
		"", "pairs", "one or both diverged", "below 0", "difference of the others (nats)", "p")
	first, second := ofLength(of, l.TestOf), ofLength(against, l.TestAgainst)
	if first == nil || second == nil {
		return t
	}
	finite := pairedDifferences(*second, *first)
	differences := append(slices.Clone(finite), divergedDifferences(*second, *first, finite)...)
	below := 0
	for _, d := range differences {
		if d < 0 {
			below++
		}
	}
	t.Row(fmt.Sprintf("%s, %s tokens - %s, %s tokens", l.Of, figure.Thousands(l.TestOf), l.Against, figure.Thousands(l.TestAgainst)),
		len(differences), len(differences)-len(finite), below, estimate(finite, "%+.4f"), number(stats.SignFlip(differences), "%.3g"))
	return t
}

// divergedDifferences returns substitutes for b's loss minus a's, for each seed of which a run of a
// or b diverged. A substitute is larger than all finite differences together, positive if b
// diverged and negative if a did; if both did, it is 0.
func divergedDifferences(a, b Result, finite []float64) (all []float64) {
	most := 1.0
	for _, d := range finite {
		most += math.Abs(d)
	}
	for _, x := range a.runs {
		for _, y := range b.runs {
			switch lost, won := !y.Loss.Finite(), !x.Loss.Finite(); {
			case x.Seed != y.Seed || !lost && !won:
			case lost && won:
				all = append(all, 0)
			case lost:
				all = append(all, most)
			default:
				all = append(all, -most)
			}
		}
	}
	return all
}

// ofLength returns the cell whose runs have the given tokens, rounded up to whole steps, or nil.
func ofLength(cells []Result, tokens int64) *Result {
	for _, c := range cells {
		if made := c.runs[0].Tokens; tokens > 0 && made >= tokens && made < tokens+tokens/100 {
			return &c
		}
	}
	return nil
}
