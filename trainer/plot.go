package trainer

import (
	"io"
	"path/filepath"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/figure"
)

// plotFile shows training and validation loss over tokens.
const plotFile = "loss.svg"

// lossPoint is the loss, in nats a token, after a number of tokens; NaN: none was finite.
type lossPoint struct {
	tokens int64
	loss   float64
}

// lossCurves are what loss.svg shows.
type lossCurves struct{ training, validation []lossPoint }

// draw writes loss.svg.
func (t *Trainer) draw() {
	if err := drawLoss(t.disk, t.run.Out, t.run.Name, t.metrics.curves()); err != nil {
		t.report.Warn("loss.svg: " + err.Error())
	}
}

// drawLoss writes loss.svg into a run folder, unless there is no loss to show.
func drawLoss(disk checkpoint.Disk, dir, title string, c lossCurves) error {
	picture := c.picture(title)
	if !picture.Drawable() {
		return nil
	}
	svg, err := figure.SVG(picture)
	if err != nil {
		return err
	}
	return disk.WriteFileAtomic(filepath.Join(dir, plotFile), func(w io.Writer) error {
		_, err := w.Write(svg)
		return err
	})
}

// picture draws the training loss smoothed over its own values, and validation as marks on a line.
func (c lossCurves) picture(title string) figure.Lines {
	unit, name := 1.0, "tokens"
	if n := len(c.training); n > 0 {
		unit, name = figure.Count("tokens", float64(c.training[n-1].tokens))
	}
	training, validation := series("training", c.training, unit).Smoothed(), series("validation", c.validation, unit)
	validation.Marks = true
	p := figure.Lines{Title: title, XLabel: name, YLabel: "loss (nats a token)", Series: []figure.Series{training}}
	if len(c.validation) > 0 {
		p.Series = append(p.Series, validation)
	}
	return p
}

// series are points in units of so many tokens.
func series(name string, points []lossPoint, unit float64) figure.Series {
	s := figure.Series{Name: name}
	for _, p := range points {
		s.Add(float64(p.tokens)/unit, p.loss)
	}
	return s
}
