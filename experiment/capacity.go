package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Capacity trains each series on a task at several loads, and reports the load at which the
// accuracy on held-out examples falls below a level.
type Capacity struct {
	Sweep
	Accuracy float64 `yaml:"accuracy" min:"0.01" max:"1" help:"the level of accuracy"`
}

// Name returns "capacity".
func (Capacity) Name() string { return "capacity" }

func (s Capacity) Check(c *Config) error {
	if err := s.Sweep.Check(c); err != nil {
		return err
	}
	if s.Values[0] <= 0 || !slices.IsSorted(s.Values) {
		return c.where.Errorf("experiment.values", "want loads above 0, ascending, got %v", s.Values)
	}
	return nil
}

func (s Capacity) Report(r *Results) Report {
	percent := fmt.Sprintf("%g%%", 100*s.Accuracy)
	thresholds := figure.NewTable("Load at "+percent+", linear between loads in their logarithm: geometric means over seeds; < or > if it is below or "+
		"above all loads for some, and then a bound", "lrrrrr",
		"", "seeds", "load", "95% (BCa bootstrap)", "times the first's, seed by seed", "95%")
	chart := figure.Lines{XLabel: s.Key, YLabel: "accuracy on held-out examples", LogX: true, XTicks: s.Values}
	var first crossings
	for _, series := range r.plan.series {
		line := figure.Series{Name: series.Name, Marks: true}
		cells := r.of(series.Name)
		for _, c := range cells {
			e := stats.Mean(c.accuracies())
			line.Add(c.point.Values[s.Key], e.Mean, e.Error)
		}
		chart.Series = append(chart.Series, line)
		of := s.crossings(cells)
		if first.at == nil {
			first = of
		}
		if len(of.at) > 0 {
			load, ratio := of.ratio(crossings{}), of.ratio(first)
			thresholds.Row(series.Name, len(of.at), of.mark+load[0], load[1], ratio[0], ratio[1])
		}
	}
	chart.Series = append(chart.Series, level(percent, chart.Series, s.Accuracy))
	return Report{Tables: []figure.Table{thresholds, s.failuresTable(r), accuracyTable(r.cells), r.Table("Runs: means over seeds, ± standard errors")},
		Picture: chart}
}

// alike is the largest difference between the accuracies of seeds that fail alike.
const alike = 0.1

// failuresTable shows the smallest load at which each series' mean accuracy is below the level.
// This is a failure of optimisation if the best rate does not lie between two worse ones, or if
// seeds differ. Otherwise it may be a failure of capacity, which longer runs have to show.
func (s Capacity) failuresTable(r *Results) figure.Table {
	t := figure.NewTable(fmt.Sprintf("The smallest load below %g%%: too large for the stream if the best rate lies between two worse ones, if all seeds "+
		"are within %g, and if a run with four times the tokens fails too", 100*s.Accuracy, alike), "lrrrlrl",
		"", "load", "accuracy", "best rate", "between two worse ones", "seeds within", "a failure of")
	for _, series := range r.plan.series {
		cells := r.of(series.Name)
		i := slices.IndexFunc(cells, func(c Result) bool { return stats.Mean(c.accuracies()).Mean < s.Accuracy })
		if i < 0 {
			continue
		}
		c := cells[i]
		all := c.accuracies()
		spread, of := slices.Max(all)-slices.Min(all), "optimisation"
		if c.inside && spread <= alike {
			of = "capacity, or too few tokens"
		}
		t.Row(series.Name, c.point.Label, estimate(all, "%.3f"), c.bestText(), yes(c.inside), fmt.Sprintf("%.3f", spread), of)
	}
	return t
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// crossings holds, by seed, the logarithm of the load at which the accuracy falls below the
// level. mark is "<" or ">" (or both) if that load of some seeds is below or above all loads
// that were tried.
type crossings struct {
	at   map[uint64]float64
	mark string
}

// crossings finds, for each seed whose runs are complete at all loads, the load at which the
// accuracy falls below the level.
func (s Capacity) crossings(cells []Result) crossings {
	c := crossings{at: map[uint64]float64{}}
	bySeed, below, above := map[uint64][]float64{}, "", ""
	for _, cell := range cells {
		for i, accuracy := range cell.accuracies() {
			seed := cell.runs[i].Seed
			bySeed[seed] = append(bySeed[seed], accuracy)
		}
	}
	for seed, accuracy := range bySeed {
		if len(accuracy) < len(s.Values) {
			continue
		}
		switch i := slices.IndexFunc(accuracy, func(a float64) bool { return a < s.Accuracy }); i {
		case -1:
			c.at[seed], above = math.Log(slices.Max(s.Values)), ">"
		case 0:
			c.at[seed], below = math.Log(s.Values[0]), "<"
		default:
			share := (accuracy[i-1] - s.Accuracy) / (accuracy[i-1] - accuracy[i])
			c.at[seed] = math.Log(s.Values[i-1]) + share*math.Log(s.Values[i]/s.Values[i-1])
		}
	}
	c.mark = below + above
	return c
}

// ratio formats the geometric mean of the loads, and its interval. If other is not empty, each
// seed's load is first divided by the same seed's load in other.
func (c crossings) ratio(other crossings) [2]string {
	var logs []float64
	for _, seed := range slices.Sorted(maps.Keys(c.at)) {
		if base, ok := other.at[seed]; ok || other.at == nil {
			logs = append(logs, c.at[seed]-base)
		}
	}
	low, high := stats.BootstrapMean(logs)
	return [2]string{number(math.Exp(stats.Mean(logs).Mean), "%.3g"), interval(math.Exp(low), math.Exp(high), "%.3g")}
}
