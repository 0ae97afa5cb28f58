package compare

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/residua-go/residua/experiment"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/trainer"
)

// Table has a row for each run: the models as given, each at its rates.
func Table(all []Model) figure.Table {
	t := figure.Table{Align: "lrrrrrrrrl", Header: []string{"model", "parameters", "MFLOP a token", "tokens", "lr", "loss", "bits per byte", "tokens/s", "memory", ""}}
	for _, m := range all {
		for _, r := range m.Runs {
			memory := "-"
			if r.Memory > 0 {
				memory = fmt.Sprintf("%d MB", r.Memory>>20)
			}
			t.Row(m.Name, fmt.Sprintf("%.2fM", float64(m.Parameters)/1e6), fmt.Sprintf("%.1f", float64(m.FLOPs)/1e6), fmt.Sprint(r.Tokens), fmt.Sprintf("%g", r.Rate),
				r.Loss.Text("%.4f"), r.Bits.Text("%.4f"), fmt.Sprintf("%.0f", r.TokensPS), memory, m.remark(r))
		}
	}
	return t
}

// remark is what a row says after its numbers.
func (m Model) remark(r *experiment.Result) string {
	var remarks []string
	if len(m.Runs) > 1 && r == m.Best && r.Loss.Finite() {
		remarks = append(remarks, "best")
	}
	if r.Diverged {
		remarks = append(remarks, "diverged")
	}
	if r.Remark != "" {
		remarks = append(remarks, r.Remark)
	}
	return strings.Join(remarks, ", ")
}

// LossChart draws the training loss of all runs, smoothed, against tokens or FLOPs. A model with
// several runs has its rates in the legend. A single run's values are drawn, too.
func LossChart(all []Model, axis Unit) figure.Lines {
	chart := figure.Lines{YLabel: "training loss (nats a token)"}
	longest := int64(0)
	for _, m := range all {
		for _, r := range m.Runs {
			longest = max(longest, r.Tokens)
		}
	}
	unit, name := figure.Count("tokens", float64(longest))
	chart.XLabel = name
	if axis == FLOPs {
		chart.XLabel = "TFLOP"
	}
	for _, m := range all {
		if axis == FLOPs {
			unit = 1e12 / float64(m.FLOPs)
		}
		for _, r := range m.Runs {
			name := filepath.Base(m.Name)
			if len(m.Runs) > 1 {
				name = fmt.Sprintf("%s at %g", name, r.Rate)
			}
			chart.Series = append(chart.Series, lossLine(name, r.Steps, unit))
		}
	}
	if len(chart.Series) > 1 {
		for i := range chart.Series {
			chart.Series[i].Raw = nil
		}
	}
	return chart
}

// lossLine is the training loss of steps, smoothed, against tokens in a unit.
func lossLine(name string, steps []trainer.Metrics, unit float64) figure.Series {
	s := figure.Series{Name: name}
	for _, m := range steps {
		loss := float64(m.Loss)
		if m.Skipped {
			loss = math.NaN()
		}
		s.X, s.Y = append(s.X, float64(m.Tokens)/unit), append(s.Y, loss)
	}
	return s.Smoothed()
}
