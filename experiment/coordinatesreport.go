package experiment

import (
	"fmt"
	"math"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/stats"
)

// growth holds an activation's mean sizes over seeds, at each width.
type growth struct {
	name                 string
	widths, size, change []float64
}

// slope returns the exponent of the growth of sizes with the width: the slope of log size over
// log width; NaN if there is none.
func (g growth) slope(sizes []float64) float64 {
	law, ok := stats.FitPowerLaw(g.widths, sizes)
	if !ok {
		return math.NaN()
	}
	return -law.B
}

// growths collects the activations of a series under a parametrisation, over the widths measured so
// far.
func (r *Results) growths(series, parametrisation string) []growth {
	var all []growth
	for _, c := range r.of(series) {
		if !strings.HasPrefix(c.point.Label, parametrisation) {
			continue
		}
		for i, a := range c.runs[0].Activations {
			if len(all) <= i {
				all = append(all, growth{name: a.Name})
			}
			g, n := &all[i], float64(len(c.runs))
			size, change := 0.0, 0.0
			for _, run := range c.runs {
				size, change = size+float64(run.Activations[i].Size)/n, change+float64(run.Activations[i].Change)/n
			}
			g.widths, g.size, g.change = append(g.widths, c.point.Values[widthKey]), append(g.size, size), append(g.change, change)
		}
	}
	return all
}

func (s Coordinates) Report(r *Results) (out Report) {
	panels := figure.Panels{Across: len(parametrisations())}
	for _, series := range r.plan.series {
		t := figure.NewTable("", "ll"+strings.Repeat("r", len(s.Widths)+2), "", "mean |x|")
		chart := figure.Lines{XLabel: "width, multiples of the base", YLabel: "mean |activation|", LogX: true, LogY: true}
		for _, width := range s.Widths {
			t.Header, chart.XTicks = append(t.Header, fmt.Sprintf("x%d", width)), append(chart.XTicks, float64(width))
		}
		t.Header = append(t.Header, "slope", "slope of the change")
		for _, c := range r.of(series.Name) {
			run := c.runs[0]
			t.Title = fmt.Sprintf("%s: scales %s; %d tokens at %g, one batch again and again, %d seeds", series.Name, s.scaling(series.Name, r.plan.zoo).Scales,
				run.Tokens, run.Rate, r.plan.Config.Seeds)
		}
		for _, p := range parametrisations() {
			chart.Title, chart.Series = series.Name+", "+p, nil
			steepest, of := 0.0, ""
			for _, g := range r.growths(series.Name, p) {
				row, slopes := []string{p, g.name}, []float64{g.slope(g.size), g.slope(g.change)}
				for _, size := range g.size {
					row = append(row, fmt.Sprintf("%.3g", size))
				}
				for _, slope := range slopes {
					row = append(row, number(slope, "%+.2f"))
					if math.Abs(slope) > math.Abs(steepest) {
						steepest, of = slope, g.name
					}
				}
				if len(g.widths) == len(s.Widths) {
					t.Rows = append(t.Rows, row)
				}
				chart.Series = append(chart.Series, figure.Series{Name: g.name, X: g.widths, Y: g.size, Marks: true})
			}
			panels.Charts = append(panels.Charts, chart)
			if of != "" {
				out.Notes = append(out.Notes, fmt.Sprintf("Steepest of %s, %s: %+.2f (%s).", series.Name, p, steepest, of))
			}
		}
		out.Tables = append(out.Tables, t)
	}
	out.Picture = panels
	return out
}
