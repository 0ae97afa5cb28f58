package experiment

import (
	"strconv"

	"github.com/residua-go/residua/figure"
)

// Sweep trains each series at several values of one key, such as the size of the residual stream
// (Mak and Flanigan 2025, figures 6 and 7). It reports how far the stream's coefficients moved, if
// train.log_mixing was set.
type Sweep struct {
	Key    string    `yaml:"key" default:"required" help:"the key of the run config that is swept, as in model.stream.dk"`
	Values []float64 `yaml:"values" default:"required" help:"its values, as in [8, 16, 32]; sweep takes differences from the first, capacity wants them to rise"`
}

// Name returns "sweep".
func (Sweep) Name() string { return "sweep" }

func (s Sweep) Check(c *Config) error {
	switch {
	case s.Key == "":
		return c.where.Errorf("experiment.key", "want a key of the run config, as in model.stream.dk, got none")
	case len(s.Values) < 2:
		return c.where.Errorf("experiment.values", "want two or more, got %v", s.Values)
	}
	return nil
}

func (s Sweep) Points(Source) ([]Point, error) {
	var all []Point
	for i, v := range s.Values {
		text := strconv.FormatFloat(v, 'f', -1, 64)
		key := index("experiment.values", i)
		all = append(all, Point{Label: text, Values: map[string]float64{s.Key: v}, Key: key, Set: []Assignment{{s.Key + "=" + text, key}}})
	}
	return all, nil
}

// mostTicks is the largest number of values that are written as numbers on the axis.
const mostTicks = 10

func (s Sweep) Report(r *Results) Report {
	chart := figure.Lines{XLabel: s.Key, YLabel: "validation loss (nats a token)", LogX: true}
	if len(s.Values) <= mostTicks {
		chart.XTicks = s.Values
	}
	var groups [][]Result
	for _, series := range r.plan.series {
		line := r.line(series.Name, func(c Result) float64 { return c.point.Values[s.Key] })
		line.Points, line.Marks = false, true
		chart.Series = append(chart.Series, line)
		groups = append(groups, (&Results{cells: r.all}).of(series.Name))
	}
	return Report{Tables: []figure.Table{r.Table("Means over seeds, ± standard errors"),
		differences("Differences from the first value of each series, run by run with the same seed", groups...),
		movesTable(r.cells)}, Picture: chart}
}
