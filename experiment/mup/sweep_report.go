package mup

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/figure"
)

// Table has a row for each rate and a column for each width.
func (s *Sweep) Table() figure.Table {
	t := figure.Table{Title: fmt.Sprintf("%s: scales %s; training loss at the end of %d steps, %d tokens", s.Scaling, s.Scales, s.Steps, s.Tokens),
		Align: strings.Repeat("r", len(s.Widths)+1)}
	head, parameters, bests := []string{"lr"}, []string{"parameters"}, []string{"best lr"}
	for _, w := range s.Widths {
		head = append(head, string(w.Parametrisation)+" "+times(w.Width))
		parameters = append(parameters, fmt.Sprintf("%.2fM", float64(w.Parameters)/1e6))
		bests = append(bests, w.Best.Text("%.3g"))
	}
	t.Header, t.Rows = head, [][]string{parameters}
	for i, rate := range s.Rates {
		row := []string{fmt.Sprintf("%.3g", rate)}
		for _, w := range s.Widths {
			row = append(row, w.Losses[i].Text("%.4f"))
		}
		t.Row(row...)
	}
	t.Row(bests...)
	return t
}

// SweepFigure draws two panels in a row for each sweep: the loss against the rate, a line for each
// width, under muP and in the standard parametrisation. Losses above that of guessing are left out.
func SweepFigure(sweeps []*Sweep) figure.Panels {
	p := figure.Panels{Across: len(parametrisations())}
	for _, s := range sweeps {
		for _, parametrisation := range parametrisations() {
			chart := figure.Lines{Title: fmt.Sprintf("%s, %s", s.Scaling, parametrisation),
				XLabel: "peak learning rate", YLabel: "training loss at the end (nats a token)", LogX: true}
			for _, w := range s.Widths {
				if w.Parametrisation == parametrisation {
					chart.Series = append(chart.Series, w.line(s.Rates, s.Guess))
				}
			}
			p.Charts = append(p.Charts, chart)
		}
	}
	return p
}

func (w SweepWidth) line(rates []float64, guess float64) figure.Series {
	line := figure.Series{Name: "width " + times(w.Width), Marks: true}
	for i, rate := range rates {
		if float64(w.Losses[i]) <= guess {
			line.X, line.Y = append(line.X, rate), append(line.Y, float64(w.Losses[i]))
		}
	}
	return line
}
