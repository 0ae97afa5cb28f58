package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/residua-go/residua/experiment/stats"
	"github.com/residua-go/residua/figure"
)

// growth is an activation's mean sizes over seeds, at each width that is measured.
type growth struct {
	name         string
	widths       []float64
	size, change []float64
}

// slope is the exponent with which sizes grow: the slope of their logarithms against the widths', NaN where there is none.
func (g growth) slope(sizes []float64) float64 {
	law, ok := stats.FitPowerLaw(g.widths, sizes)
	if !ok {
		return math.NaN()
	}
	return -law.B
}

// growths are those of the activations of a series under a parametrisation.
func (s Coordinates) growths(r *results, series, parametrisation string) []growth {
	var all []growth
	for _, width := range s.Widths {
		for _, c := range r.of(series) {
			if c.point.label != widthLabel(parametrisation, width) {
				continue
			}
			for i, a := range c.runs[0].Activations {
				if len(all) <= i {
					all = append(all, growth{name: a.Name})
				}
				var size, change []float64
				for _, run := range c.runs {
					size, change = append(size, float64(run.Activations[i].Size)), append(change, float64(run.Activations[i].Change))
				}
				g := &all[i]
				g.widths, g.size, g.change = append(g.widths, float64(width)), append(g.size, stats.Mean(size).Mean), append(g.change, stats.Mean(change).Mean)
			}
		}
	}
	return all
}

func (s Coordinates) report(r *results) (out Report) {
	panels := figure.Panels{Across: len(parametrisations())}
	for _, series := range r.plan.series {
		run := r.of(series.Name)
		if len(run) == 0 {
			continue
		}
		steps := run[0].runs[0]
		t := figure.Table{Title: fmt.Sprintf("%s: scales %s; %d tokens at %g, one batch again and again, %d seeds", series.Name, s.scaling(series.Name, r.plan.zoo).Scales, steps.Tokens, steps.Rate, r.plan.Config.Seeds),
			Header: []string{"", "mean |x|"}, Align: "ll" + strings.Repeat("r", len(s.Widths)+2)}
		chart := figure.Lines{XLabel: "width, multiples of the base", YLabel: "mean |activation|", LogX: true, LogY: true}
		for _, width := range s.Widths {
			t.Header, chart.XTicks = append(t.Header, fmt.Sprintf("x%d", width)), append(chart.XTicks, float64(width))
		}
		t.Header = append(t.Header, "slope", "slope of the change")
		for _, p := range parametrisations() {
			chart.Title, chart.Series = series.Name+", "+p, nil
			steepest, of := 0.0, ""
			for _, g := range s.growths(r, series.Name, p) {
				row := []string{p, g.name}
				for _, width := range s.Widths {
					row = append(row, g.at(float64(width)))
				}
				t.Row(append(row, number(g.slope(g.size), "%+.2f"), number(g.slope(g.change), "%+.2f"))...)
				chart.Series = append(chart.Series, figure.Series{Name: g.name, X: g.widths, Y: g.size, Marks: true})
				for _, slope := range []float64{g.slope(g.size), g.slope(g.change)} {
					if math.Abs(slope) > math.Abs(steepest) {
						steepest, of = slope, g.name
					}
				}
			}
			panels.Charts = append(panels.Charts, chart)
			out.Notes = append(out.Notes, fmt.Sprintf("Steepest of %s, %s: %+.2f (%s).", series.Name, p, steepest, of))
		}
		out.Tables = append(out.Tables, t)
	}
	out.Picture = panels
	return out
}

// at is the size at a width.
func (g growth) at(width float64) string {
	if i := slices.Index(g.widths, width); i >= 0 {
		return fmt.Sprintf("%.3g", g.size[i])
	}
	return "-"
}
