package mup

import (
	"fmt"
	"math"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/trainer"
)

// Text has a row for each activation, with its slopes, and below them the steepest.
func (c *Coordinates) Text() string {
	t := figure.Table{Title: fmt.Sprintf("%s: scales %s; %d steps at %g on one batch, %d seeds", c.Scaling, c.Scales, c.Steps, c.Rate, c.Seeds),
		Header: []string{"", "mean |x|"}, Align: "ll" + strings.Repeat("r", len(c.Widths)+2)}
	for _, w := range c.Widths {
		t.Header = append(t.Header, times(w))
	}
	t.Header = append(t.Header, "slope", "slope of the change")
	for _, a := range c.Activations {
		row := []string{string(a.Parametrisation), a.Name}
		for _, v := range a.Size {
			row = append(row, v.Text("%.3g"))
		}
		t.Row(append(row, a.SizeSlope.Text("%+.2f"), a.ChangeSlope.Text("%+.2f"))...)
	}
	text := t.Text()
	for _, p := range parametrisations() {
		name, s := c.steepest(p)
		text += fmt.Sprintf("steepest, %s: %s (%s)\n", p, s.Text("%+.2f"), name)
	}
	return text
}

// times writes a width as a column's head, "x2".
func times(width int) string { return fmt.Sprintf("x%d", width) }

// steepest returns the activation whose size, or change, depends most on the width.
func (c *Coordinates) steepest(p Parametrisation) (name string, steepest trainer.Number) {
	for _, a := range c.Activations {
		for _, s := range []trainer.Number{a.SizeSlope, a.ChangeSlope} {
			if a.Parametrisation == p && (name == "" || math.Abs(float64(s)) > math.Abs(float64(steepest))) {
				name, steepest = a.Name, s
			}
		}
	}
	return name, steepest
}

// CoordinateFigure draws two panels in a row for each check: the activations' sizes against the
// width, under muP and in the standard parametrisation.
func CoordinateFigure(checks []*Coordinates) figure.Panels {
	p := figure.Panels{Across: len(parametrisations())}
	for _, c := range checks {
		for _, parametrisation := range parametrisations() {
			chart := figure.Lines{Title: fmt.Sprintf("%s, %s, after %d steps", c.Scaling, parametrisation, c.Steps),
				XLabel: "width, multiples of the base", YLabel: "mean |activation|", LogX: true, LogY: true}
			for _, w := range checks[0].Widths {
				chart.XTicks = append(chart.XTicks, float64(w))
			}
			for _, a := range c.Activations {
				if a.Parametrisation == parametrisation {
					chart.Series = append(chart.Series, a.line(c.Widths))
				}
			}
			p.Charts = append(p.Charts, chart)
		}
	}
	return p
}

func (a Activation) line(widths []int) figure.Series {
	s := figure.Series{Name: a.Name, Marks: true}
	for i, w := range widths {
		s.X, s.Y = append(s.X, float64(w)), append(s.Y, float64(a.Size[i]))
	}
	return s
}
