package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
)

// Scaling trains a ladder of sizes of each series and fits a power law of the loss against non-embedding parameters, FLOPs, tokens and time
// (Mak and Flanigan 2025, figures 2 and 4; Kaplan et al. 2020, section 3).
type Scaling struct {
	Sizes map[string][][]string `yaml:"sizes" default:"required" help:"for each series its sizes, the smallest first, each a list of settings, as in {rmt: [[model.layers=2], [model.layers=4]]}"`
}

// Name is scaling.
func (Scaling) Name() string { return "scaling" }

func (s Scaling) evaluations() int { return 1 }

func (s Scaling) check(c *Config) error {
	for name := range s.Sizes {
		if !slices.ContainsFunc(c.Series, func(o Series) bool { return o.Name == name }) {
			return c.where.Errorf("experiment.sizes."+name, "want the name of a series, got %q", name)
		}
	}
	for _, o := range c.Series {
		if len(s.Sizes[o.Name]) == 0 {
			return c.where.Errorf("experiment.sizes", "want sizes for each series, got none for %q", o.Name)
		}
	}
	return nil
}

func (s Scaling) points(_ *Config, series string) []point {
	var all []point
	for i, settings := range s.Sizes[series] {
		key := index("experiment.sizes."+series, i)
		all = append(all, point{label: fmt.Sprint("size", i+1), key: key, set: assignments(settings, key)})
	}
	return all
}

// axis is what a loss is fitted against.
type axis struct {
	name string
	of   func(Record) float64
}

// axes of scaling laws.
func axes() []axis {
	return []axis{
		{"non-embedding parameters", func(r Record) float64 { return float64(r.NonEmbedding()) }},
		{"training FLOPs", Record.TotalFLOPs},
		{"tokens", func(r Record) float64 { return float64(r.Tokens) }},
		{"seconds of training", func(r Record) float64 { return r.Seconds }},
	}
}

func (s Scaling) report(r *results) (tables []figure.Table, picture figure.Figure, notes []string) {
	fits := figure.Table{Title: "Power laws, loss = A x^-B, with 95% intervals of a bootstrap over residuals", Align: "llrrr", Header: []string{"series", "x", "A", "B", "95% of B"}}
	needs := figure.Table{Title: "What a series needs of what the first one needs, for the loss that the first one's fit has at its largest size", Align: "llrr", Header: []string{"series", "x", "share", "95%"}}
	panels := figure.Panels{Across: 2, OwnAxes: true}
	for _, a := range axes() {
		chart := figure.Lines{XLabel: a.name, YLabel: "validation loss (nats a token)", LogX: true, LogY: true}
		var first stats.Fit
		for i, series := range r.config.Series {
			chart.Series = append(chart.Series, r.line(series.Name, func(c cell) float64 { return c.mean(a.of) }))
			x, y := r.pairs(series.Name, a.of)
			fit, ok := stats.Bootstrap(x, y)
			if !ok {
				notes = append(notes, fmt.Sprintf("%s against %s: no fit: want three runs or more and two different values, got %d runs.", series.Name, a.name, len(x)))
				continue
			}
			low, high := fit.Interval(func(p stats.PowerLaw) float64 { return p.B })
			fits.Row(series.Name, a.name, fmt.Sprintf("%.4g", fit.A), fmt.Sprintf("%.4f", fit.B), interval(low, high, "%.4f"))
			law := lawLine(fit, x, fmt.Sprintf("%s, power law", series.Name))
			law.Like = len(chart.Series)
			chart.Series = append(chart.Series, law)
			if i == 0 {
				first = fit
				continue
			}
			if target := largest(r, a); !math.IsNaN(target) && first.A > 0 {
				share, low, high := fit.Ratio(first, func(p stats.PowerLaw) float64 { return p.Inverse(first.At(target)) })
				needs.Row(series.Name, a.name, number(share, "%.2f"), interval(low, high, "%.2f"))
			}
		}
		panels.Charts = append(panels.Charts, chart)
	}
	tables = []figure.Table{r.table("Runs: means over seeds, ± standard errors"), fits}
	if len(needs.Rows) > 0 {
		tables = append(tables, needs)
	}
	return tables, panels, notes
}

// pairs are a quantity and the loss of each run of a series that did not diverge.
func (r *results) pairs(series string, of func(Record) float64) (x, y []float64) {
	for _, c := range r.of(series) {
		x, y = append(x, c.values(of)...), append(y, c.losses()...)
	}
	return x, y
}

// largest is the greatest value of a quantity that runs of the first series have; NaN without one.
func largest(r *results, a axis) float64 {
	x, _ := r.pairs(r.config.Series[0].Name, a.of)
	if len(x) == 0 {
		return math.NaN()
	}
	return slices.Max(x)
}

// lawLine draws a power law over the range of x.
func lawLine(law stats.Fit, x []float64, name string) figure.Series {
	s := figure.Series{Name: name}
	low, high := slices.Min(x), slices.Max(x)
	for i := range 33 {
		at := low * math.Pow(high/low, float64(i)/32)
		s.X, s.Y = append(s.X, at), append(s.Y, law.At(at))
	}
	return s
}
