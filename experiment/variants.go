package experiment

import (
	"fmt"
	"math"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Variants trains each series with its settings and compares it with the first, seed by seed (Mak
// and Flanigan 2025, figure 5 and table 10). It reports how many seeds a difference of 1% would
// need; on a task, the accuracy; how far the loss rose during training, if it was evaluated; and
// how far the stream's coefficients moved, if train.log_mixing was set.
type Variants struct {
	Plain
	Evaluations int `yaml:"evaluations" min:"1" max:"10000" help:"evaluations of a run, evenly spaced; from two on the report says how far the loss rose"`
}

// Name returns "variants".
func (Variants) Name() string { return "variants" }

func (v Variants) TimesEvaluated() int { return v.Evaluations }

func (Variants) Report(r *Results) Report {
	return Report{Tables: []figure.Table{r.Table("Means over seeds, ± standard errors"), accuracyTable(r.cells),
		differences("Differences from the first, run by run with the same seed", r.all),
		risesTable(r.cells), movesTable(r.cells), seedsTable(r.all)}, Picture: differenceBars(r.cells)}
}

// risesTable shows the largest rise of each run's validation loss above the lowest before it.
func risesTable(cells []Result) figure.Table {
	t := figure.NewTable("Largest rise of the validation loss above the lowest before it (nats), by seed", "lrl", "", "rises above 0.5", "by seed")
	for _, c := range cells {
		high, rises := 0, []string(nil)
		for _, run := range c.runs {
			if len(run.Evaluations) == 0 {
				continue
			}
			rise := run.largestRise()
			rises = append(rises, fmt.Sprintf("%.2f", rise))
			if rise > 0.5 {
				high++
			}
		}
		if len(rises) > 0 {
			t.Row(c.Name(), fmt.Sprintf("%d of %d", high, len(rises)), strings.Join(rises, ", "))
		}
	}
	return t
}

// largestRise returns by how much an evaluation's loss exceeds the lowest before it, at most. A
// loss that is not finite counts as infinite.
func (r Record) largestRise() float64 {
	rise, lowest := 0.0, math.Inf(1)
	for _, e := range r.Evaluations {
		loss := float64(e.Loss)
		if !e.Loss.Finite() {
			loss = math.Inf(1)
		}
		if loss > lowest {
			rise = max(rise, loss-lowest)
		}
		lowest = min(lowest, loss)
	}
	return rise
}

// differenceBars shows the differences from the first cell, or its loss if there is no other.
func differenceBars(cells []Result) figure.Bars {
	if len(cells) == 1 {
		return figure.Bars{YLabel: "validation loss (nats a token)", Labels: []string{cells[0].Name()}, Values: []float64{cells[0].loss()}, Format: "%.4f"}
	}
	bars := figure.Bars{YLabel: "loss minus " + cells[0].Name() + "'s (nats a token), ± standard error", Format: "%+.4f"}
	for _, c := range cells[1:] {
		e := stats.Mean(pairedDifferences(cells[0], c))
		bars.Add(c.Name(), e.Mean, e.Error)
	}
	return bars
}

// differences returns a table of differences. In each group, the cells after the first are
// compared with the first, in a row each, if both have runs.
func differences(title string, groups ...[]Result) figure.Table {
	t := figure.NewTable(title, "lrrrrr", "", "pairs", "difference", "of the first", "standard deviation", "p (paired t-test)")
	for _, cells := range groups {
		for _, c := range cells[min(1, len(cells)):] {
			if len(cells[0].runs) == 0 || len(c.runs) == 0 {
				continue
			}
			pairs := pairedDifferences(cells[0], c)
			share := stats.Mean(pairs).Mean / cells[0].loss()
			t.Row(c.Name(), len(pairs), estimate(pairs, "%+.4f"), number(100*share, "%+.2f%%"), number(stats.Deviation(pairs), "%.4f"),
				number(stats.PairedTest(pairs), "%.2g"))
		}
	}
	return t
}

// pairedDifferences returns b's losses minus those of a, for the seeds that both have.
func pairedDifferences(a, b Result) []float64 {
	var all []float64
	for _, x := range a.runs {
		for _, y := range b.runs {
			if x.Seed == y.Seed && x.Loss.Finite() && y.Loss.Finite() {
				all = append(all, float64(y.Loss-x.Loss))
			}
		}
	}
	return all
}

// seedsTable shows how many seeds a difference of 1% of the first cell's loss would need.
func seedsTable(cells []Result) figure.Table {
	t := figure.NewTable(fmt.Sprintf("Seeds that a difference of 1%% of the first's loss needs, alpha %g two-sided, power %g", stats.Alpha, stats.Power),
		"lrrrrrrr",
		"", "deviation, first", "deviation, this", "deviation of the difference", "95% of that", "seeds, paired", "at the 95%", "seeds of each, unpaired")
	for i, c := range cells {
		pairs := pairedDifferences(cells[0], c)
		if i == 0 || len(pairs) < 2 {
			continue
		}
		a, b, both := stats.Deviation(cells[0].losses()), stats.Deviation(c.losses()), stats.Deviation(pairs)
		difference := 0.01 * cells[0].loss()
		low, high := stats.DeviationInterval(both, len(pairs))
		ends := count(stats.PairedSeeds(low, difference)) + " to " + count(stats.PairedSeeds(high, difference))
		t.Row(c.Name(), fmt.Sprintf("%.4f", a), fmt.Sprintf("%.4f", b), number(both, "%.4f"), interval(low, high, "%.4f"), count(stats.PairedSeeds(both, difference)),
			ends, count(stats.UnpairedSeeds(a, b, difference)))
	}
	return t
}

// count formats a number of seeds, "-" for 0.
func count(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}
