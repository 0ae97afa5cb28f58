// Package bars draws horizontal bar charts as SVG pictures.
package bars

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"github.com/pkg/errors"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is a bar chart: rows from the top down, in each a bar for every series.
type Chart struct {
	Title  string
	Axis   string   // what the bars' length is, with its unit
	Series []string // names for the legend; one series needs none
	Rows   []Row
	Format string // of the number behind a bar; "" is %.0f
}

// Row is one row's bars: a value a series, NaN where there is none.
type Row struct {
	Name   string
	Values []float64
}

// Sizes of the picture.
const (
	width     = 20 * vg.Centimeter
	margin    = 2.6 * vg.Centimeter // title, axis and legend
	thickness = 0.42 * vg.Centimeter
	edge      = 0.2 * vg.Centimeter
	nameRoom  = 1.2 * vg.Centimeter  // on the left: a viewer's font may be wider than the one measured here
	axisText  = 10 * vg.Length(1)    // points
	gap       = 0.22 * vg.Centimeter // between rows
	headroom  = 1.14                 // of the axis over the longest bar, for the numbers
)

// palette holds a colour a series.
var palette = [...]color.RGBA{
	{R: 0x33, G: 0x66, B: 0xaa, A: 0xff},
	{R: 0xdd, G: 0x88, B: 0x33, A: 0xff},
	{R: 0x99, G: 0xaa, B: 0xbb, A: 0xff},
	{R: 0x55, G: 0x99, B: 0x66, A: 0xff},
}

// Write writes the picture.
func (c Chart) Write(w io.Writer) error {
	series, err := c.check()
	if err != nil {
		return err
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text = c.Title, c.Axis
	names := make([]string, len(c.Rows))
	for i, row := range c.Rows {
		names[len(names)-1-i] = padded(row.Name) // gonum counts from the bottom up
	}
	p.NominalY(names...)
	for s := range series {
		if err := c.addSeries(p, s, series); err != nil {
			return err
		}
	}
	p.X.Min, p.X.Max = 0, headroom*c.longest()
	rows := len(c.Rows)
	if len(c.Series) > 0 {
		rows++ // the topmost is the legend's
	}
	p.Y.Min, p.Y.Max = -0.6, float64(rows)-0.4
	p.Legend.Top = true
	p.X.Label.TextStyle.Font.Size = axisText
	height := margin + vg.Length(rows)*(vg.Length(series)*thickness+gap)
	picture := vgsvg.New(width, height)
	canvas := draw.New(picture)
	canvas.SetColor(p.BackgroundColor)
	canvas.Fill(canvas.Path())
	p.Draw(draw.Crop(canvas, nameRoom, -edge, edge, -edge))
	_, err = picture.WriteTo(w)
	return errors.WithStack(err)
}

// check returns the number of series.
func (c Chart) check() (int, error) {
	series := max(1, len(c.Series))
	if len(c.Rows) == 0 {
		return 0, errors.Errorf("chart %q: want at least one row, got none", c.Title)
	}
	for _, row := range c.Rows {
		if len(row.Values) != series {
			return 0, errors.Errorf("chart %q, row %q: want %d values, one a series, got %d", c.Title, row.Name, series, len(row.Values))
		}
	}
	if series > len(palette) {
		return 0, errors.Errorf("chart %q: want at most %d series, got %d", c.Title, len(palette), series)
	}
	return series, nil
}

// longest is the largest value, 1 if there is none above 0.
func (c Chart) longest() float64 {
	longest := 0.0
	for _, row := range c.Rows {
		for _, v := range row.Values {
			if !math.IsNaN(v) {
				longest = max(longest, v)
			}
		}
	}
	if longest == 0 {
		return 1
	}
	return longest
}

// addSeries draws the bars of series s and the numbers behind them.
func (c Chart) addSeries(p *plot.Plot, s, series int) error {
	values := make(plotter.Values, len(c.Rows))
	var ends plotter.XYLabels
	for i, row := range c.Rows {
		v, at := row.Values[s], len(c.Rows)-1-i
		if math.IsNaN(v) {
			continue
		}
		values[at] = v
		ends.XYs = append(ends.XYs, plotter.XY{X: v, Y: float64(at)})
		ends.Labels = append(ends.Labels, " "+c.number(v))
	}
	bars, err := plotter.NewBarChart(values, thickness)
	if err != nil {
		return errors.WithStack(err)
	}
	bars.Horizontal, bars.Color, bars.LineStyle.Width = true, palette[s], 0
	bars.Offset = (vg.Length(series-1)/2 - vg.Length(s)) * thickness // the first on top
	labels, err := plotter.NewLabels(ends)
	if err != nil {
		return errors.WithStack(err)
	}
	labels.Offset.Y = bars.Offset
	for i := range labels.TextStyle {
		labels.TextStyle[i].YAlign = text.YCenter
	}
	p.Add(bars, labels)
	if s < len(c.Series) {
		p.Legend.Add(padded(c.Series[s]), bars)
	}
	return nil
}

// padded adds spaces behind a name, so that it stays clear of what is on its right in a
// viewer whose font is wider than the one that the layout measures.
func padded(name string) string { return name + strings.Repeat(" ", len(name)/2) }

func (c Chart) number(v float64) string {
	if c.Format == "" {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf(c.Format, v)
}
