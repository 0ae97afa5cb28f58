package trainer

import (
	"path/filepath"

	"github.com/residua-go/residua/figure"
)

// plotFile is the picture of training and validation loss over tokens.
const plotFile = "loss.svg"

// draw writes loss.svg, unless there is no loss yet.
func (t *Trainer) draw() {
	if !t.leads() {
		return
	}
	picture := t.metrics.loss.picture(t.run.Name)
	if !picture.Drawable() {
		return
	}
	svg, err := figure.SVG(picture)
	if err == nil {
		err = t.folder.WriteFile(filepath.Join(t.run.Out, plotFile), svg)
	}
	if err != nil {
		t.report.Warn("loss.svg: " + err.Error())
	}
}

// picture draws the training loss, raw and smoothed, and validation as marks on a line.
func (h *lossHistory) picture(title string) figure.Lines {
	unit, name := 1.0, "tokens"
	if n := len(h.training.groups); n > 0 {
		unit, name = figure.Count("tokens", float64(h.training.groups[n-1].tokens))
	}
	training, validation := h.training.series("training", unit).Smoothed(), h.validation.series("validation", unit)
	validation.Marks = true
	p := figure.Lines{Title: title, XLabel: name, YLabel: "loss (nats a token)", Series: []figure.Series{training}}
	if len(h.validation.groups) > 0 {
		p.Series = append(p.Series, validation)
	}
	return p
}

// series returns the curve, with tokens counted in multiples of unit.
func (c *lossCurve) series(name string, unit float64) figure.Series {
	s := figure.Series{Name: name}
	for _, g := range c.groups {
		s.Add(float64(g.tokens)/unit, g.mean())
	}
	return s
}
