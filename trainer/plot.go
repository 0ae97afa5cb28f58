package trainer

import (
	"image/color"
	"io"
	"math"
	"path/filepath"

	"github.com/pkg/errors"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/residua-go/residua/checkpoint"
)

// plotFile shows training and validation loss over tokens.
const plotFile = "loss.svg"

// Size of the picture and number of points that the training curve is averaged to.
const (
	plotWidth  = 18 * vg.Centimeter
	plotHeight = 11 * vg.Centimeter
	plotPoints = 400
)

// drawLoss writes loss.svg into a run folder.
func drawLoss(dir, title string, lines []Metrics) error {
	train, val := curves(lines)
	if len(train) == 0 {
		return nil
	}
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text = "million tokens"
	p.Y.Label.Text = "loss (nats a token)"
	p.Add(plotter.NewGrid())
	if err := addLine(p, "training", train, color.RGBA{R: 0x33, G: 0x66, B: 0xaa, A: 0xff}); err != nil {
		return err
	}
	if len(val) > 0 {
		if err := addLine(p, "validation", val, color.RGBA{R: 0xcc, G: 0x55, B: 0x22, A: 0xff}); err != nil {
			return err
		}
	}
	p.Legend.Top = true
	picture, err := p.WriterTo(plotWidth, plotHeight, "svg")
	if err != nil {
		return errors.WithStack(err)
	}
	return checkpoint.WriteFileAtomic(filepath.Join(dir, plotFile), func(w io.Writer) error {
		_, err := picture.WriteTo(w)
		return err
	})
}

func addLine(p *plot.Plot, name string, points plotter.XYs, c color.Color) error {
	line, err := plotter.NewLine(points)
	if err != nil {
		return errors.WithStack(err)
	}
	line.Color = c
	p.Add(line)
	p.Legend.Add(name, line)
	return nil
}

// curves returns the training loss, averaged over groups of steps, and the validation
// loss, both over millions of tokens.
func curves(lines []Metrics) (train, val plotter.XYs) {
	group := max(1, len(lines)/plotPoints)
	for first := 0; first < len(lines); first += group {
		sum, n, last := 0.0, 0, lines[first]
		for _, m := range lines[first:min(first+group, len(lines))] {
			last = m
			if loss := float64(m.Loss); !m.Skipped && !math.IsNaN(loss) {
				sum, n = sum+loss, n+1
			}
		}
		if n > 0 {
			train = append(train, plotter.XY{X: float64(last.Tokens) / 1e6, Y: sum / float64(n)})
		}
	}
	for _, m := range lines {
		if m.ValLoss != nil && !math.IsNaN(float64(*m.ValLoss)) {
			val = append(val, plotter.XY{X: float64(m.Tokens) / 1e6, Y: float64(*m.ValLoss)})
		}
	}
	return train, val
}
