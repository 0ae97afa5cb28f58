package main

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/trainer"
)

// standingsTable has a row a run: the models as given, each at its rates.
func standingsTable(all []standing) string {
	t := cli.Table{Align: "lrrrrrrrrl"}
	t.Row("model", "parameters", "MFLOP a token", "tokens", "lr", "loss", "bits per byte", "tokens/s", "memory")
	for _, s := range all {
		for _, r := range s.Runs {
			memory := "-"
			if r.Memory > 0 {
				memory = fmt.Sprintf("%d MB", r.Memory>>20)
			}
			t.Row(s.Model, fmt.Sprintf("%.2fM", float64(s.Parameters)/1e6), fmt.Sprintf("%.1f", float64(s.FLOPs)/1e6), fmt.Sprint(r.Tokens), fmt.Sprintf("%g", r.Rate),
				r.Loss.text("%.4f"), r.Bits.text("%.4f"), fmt.Sprintf("%.0f", r.TokensPS), memory, s.remark(r))
		}
	}
	return t.String()
}

// remark is what a row says after its numbers.
func (s standing) remark(r *outcome) string {
	var remarks []string
	if len(s.Runs) > 1 && r == s.Best && r.Loss.finite() {
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

// racer is a run as the picture shows it.
type racer struct {
	name  string
	run   *outcome
	flops int // a token
}

// racers are all runs, named by their rates, too, where a model has several.
func racers(all []standing) []racer {
	var shown []racer
	for _, s := range all {
		for _, r := range s.Runs {
			name := filepath.Base(s.Model)
			if len(s.Runs) > 1 {
				name = fmt.Sprintf("%s at %g", name, r.Rate)
			}
			shown = append(shown, racer{name, r, s.FLOPs})
		}
	}
	return shown
}

// racePicture draws runs' training loss, smoothed; a single run's own values, too.
func racePicture(title string, shown []racer, axis string) figure.Lines {
	p := figure.Lines{Title: title, YLabel: "training loss (nats a token)"}
	longest := int64(0)
	for _, r := range shown {
		longest = max(longest, r.run.Tokens)
	}
	unit, name := figure.Count("tokens", float64(longest))
	p.XLabel = name
	if axis == axisFLOPs {
		p.XLabel = "TFLOP"
	}
	for _, r := range shown {
		if axis == axisFLOPs {
			unit = 1e12 / float64(r.flops)
		}
		line := lossLine(r.name, r.run.curve, unit)
		if len(shown) > 1 {
			line.Raw = nil
		}
		p.Series = append(p.Series, line)
	}
	return p
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
