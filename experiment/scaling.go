package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// Scaling trains models of increasing size for each series and fits power laws of the loss
// over non-embedding parameters, FLOPs, tokens and time (Mak and Flanigan 2025, figures 2 and
// 4; Kaplan et al. 2020, section 3).
type Scaling struct {
	Sizes map[string][][]string `yaml:"sizes" default:"required" help:"each series' sizes, smallest first, as in {rmt: [[model.layers=2], [model.layers=4]]}"`
}

// Name returns "scaling".
func (Scaling) Name() string { return "scaling" }

func (s Scaling) Check(c *Config) error {
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

func (s Scaling) Points(of Source) ([]Point, error) {
	var all []Point
	for i, settings := range s.Sizes[of.Series] {
		key := index("experiment.sizes."+of.Series, i)
		all = append(all, Point{Label: fmt.Sprint("size", i+1), Key: key, Set: assignments(settings, key)})
	}
	return all, nil
}

// axis is a quantity over which the loss is fitted.
type axis struct {
	name string
	of   func(Record) float64
}

// axes of scaling laws.
func axes() []axis {
	return []axis{
		{"non-embedding parameters", func(r Record) float64 { return float64(r.nonEmbedding()) }},
		{"training FLOPs", Record.TotalFLOPs},
		{"tokens", func(r Record) float64 { return float64(r.Tokens) }},
		{"seconds of training", func(r Record) float64 { return r.Seconds }},
	}
}

func (s Scaling) Report(r *Results) (out Report) {
	laws := figure.NewTable("Power laws, loss = A x^-B, with 95% intervals (Student's t) that take the law for true", "llrrr", "series", "x", "A", "B", "95% of B")
	needs := figure.NewTable("What a series needs of what the first one needs, for the loss that the first one's law has at its largest size", "llrr", "series",
		"x", "share", "95%")
	panels := figure.Panels{Across: 2, OwnAxes: true}
	for _, a := range axes() {
		chart := figure.Lines{XLabel: a.name, YLabel: "validation loss (nats a token)", LogX: true, LogY: true}
		fits := r.laws(a)
		for i, law := range fits {
			name := r.plan.series[i].Name
			chart.Series = append(chart.Series, r.line(name, func(c Result) float64 { return c.mean(a.of) }))
			if !law.found {
				out.Notes = append(out.Notes, fmt.Sprintf("%s against %s: no fit: want three runs or more and two different values, got %d runs.", name, a.name,
					len(law.x)))
				continue
			}
			low, high := law.Interval(func(p stats.PowerLaw) float64 { return p.B })
			laws.Row(name, a.name, fmt.Sprintf("%.4g", law.A), fmt.Sprintf("%.4f", law.B), interval(low, high, "%.4f"))
			chart.Series = append(chart.Series, law.line(name+", power law", len(chart.Series)))
			if first := fits[0]; i > 0 && first.found {
				loss := first.At(slices.Max(first.x))
				share, low, high := law.Ratio(first.Fit, func(p stats.PowerLaw) float64 { return p.Inverse(loss) })
				needs.Row(name, a.name, number(share, "%.2f"), interval(low, high, "%.2f"))
			}
		}
		panels.Charts = append(panels.Charts, chart)
	}
	exponents, notes := r.exponents()
	out.Notes = append(out.Notes, notes...)
	out.Picture, out.Tables = panels, []figure.Table{r.Table("Runs: means over seeds, ± standard errors"), laws, exponents, needs}
	return out
}

// law is the power law of a series, with the points it was fitted to.
type law struct {
	stats.Fit
	x, y  []float64
	found bool
}

// laws fits a law to each series over a quantity, using all runs that did not diverge.
func (r *Results) laws(a axis) []law {
	var all []law
	for _, series := range r.plan.series {
		var l law
		for _, c := range r.of(series.Name) {
			l.x, l.y = append(l.x, c.values(a.of)...), append(l.y, c.losses()...)
		}
		l.Fit, l.found = stats.Infer(l.x, l.y)
		all = append(all, l)
	}
	return all
}

// line draws the law over the range of its points, in the colour of another series of the chart.
func (l law) line(name string, like int) figure.Series {
	s := figure.Series{Name: name, Like: like}
	low, high := slices.Min(l.x), slices.Max(l.x)
	for i := range 33 {
		at := low * math.Pow(high/low, float64(i)/32)
		s.Add(at, l.At(at))
	}
	return s
}
