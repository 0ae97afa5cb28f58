// Package lines draws line charts as SVG pictures: panels in rows, and one legend to their
// right.
package lines

import (
	"image/color"
	"io"
	"math"

	"github.com/pkg/errors"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Picture is one or more panels that share their series' names, colours and y axis.
type Picture struct {
	X, Y   Axis
	Panels []Panel
	Across int  // panels in a row; 0: all
	Marks  bool // a mark at each point
}

// Axis is what an axis shows.
type Axis struct {
	Label string
	Log   bool      // logarithmic; points that are not above 0 are left out
	Ticks []float64 // where the numbers stand; nil: chosen
}

// Panel is one chart.
type Panel struct {
	Title  string
	Series []Series
}

// Series is a line. Points with a coordinate that is not finite are left out.
type Series struct {
	Name   string
	Points []Point
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Sizes of the picture.
const (
	panelWidth  = 13 * vg.Centimeter
	panelHeight = 11 * vg.Centimeter
	legendWidth = 6 * vg.Centimeter
	edge        = 0.2 * vg.Centimeter
	lineWidth   = 1.3 * vg.Millimeter / 2
	markRadius  = 0.8 * vg.Millimeter
)

// palette holds the colours; series beyond them are dashed and begin again.
var palette = [...]color.RGBA{
	{R: 0x33, G: 0x66, B: 0xaa, A: 0xff},
	{R: 0xdd, G: 0x88, B: 0x33, A: 0xff},
	{R: 0x55, G: 0x99, B: 0x66, A: 0xff},
	{R: 0xbb, G: 0x44, B: 0x55, A: 0xff},
	{R: 0x88, G: 0x66, B: 0xaa, A: 0xff},
	{R: 0x77, G: 0x88, B: 0x99, A: 0xff},
}

// Write writes the picture.
func (c Picture) Write(w io.Writer) error {
	if len(c.Panels) == 0 {
		return errors.New("picture: want at least one panel, got none")
	}
	width, height := c.size()
	picture := vgsvg.New(width, height)
	if err := c.draw(draw.New(picture)); err != nil {
		return err
	}
	_, err := picture.WriteTo(w)
	return errors.WithStack(err)
}

// rows is the number of panels across and down.
func (c Picture) rows() (across, down int) {
	if across = c.Across; across < 1 {
		across = len(c.Panels)
	}
	return across, (len(c.Panels) + across - 1) / across
}

func (c Picture) size() (width, height vg.Length) {
	across, down := c.rows()
	return vg.Length(across)*panelWidth + legendWidth, vg.Length(down) * panelHeight
}

// draw fills a canvas of the picture's size.
func (c Picture) draw(canvas draw.Canvas) error {
	low, high := c.span(func(p Point) float64 { return p.Y })
	left, right := c.span(func(p Point) float64 { return p.X })
	if math.IsInf(low, 0) || math.IsInf(left, 0) {
		return errors.New("picture: want at least one point that can be drawn, got none")
	}
	canvas.SetColor(color.White)
	canvas.Fill(canvas.Path())
	width, height := c.size()
	across, down := c.rows()
	legend := plot.NewLegend()
	for i, panel := range c.Panels {
		p, err := c.panel(panel, &legend, i == 0)
		if err != nil {
			return err
		}
		p.Y.Min, p.Y.Max = widen(low, high, c.Y.Log)
		p.X.Min, p.X.Max = widen(left, right, c.X.Log)
		x, y := vg.Length(i%across)*panelWidth, vg.Length(down-1-i/across)*panelHeight // from below
		p.Draw(draw.Crop(canvas, x+edge, x+panelWidth-width-edge, y+edge, y+panelHeight-height-edge))
	}
	legend.Top, legend.Left = true, true
	legend.Draw(draw.Crop(canvas, width-legendWidth+edge, -edge, edge, -3*edge))
	return nil
}

// panel makes one chart; named adds its lines to the legend.
func (c Picture) panel(panel Panel, legend *plot.Legend, named bool) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = panel.Title, c.X.Label, c.Y.Label
	c.X.set(&p.X)
	c.Y.set(&p.Y)
	p.Add(plotter.NewGrid())
	for i, series := range panel.Series {
		points := c.drawable(series.Points)
		line, marks, err := plotter.NewLinePoints(points)
		if len(points) == 0 {
			line, marks, err = new(plotter.Line), nil, nil // the legend names it all the same
		}
		if err != nil {
			return nil, errors.Wrapf(err, "picture: line %q", series.Name)
		}
		line.LineStyle = draw.LineStyle{Color: palette[i%len(palette)], Width: lineWidth}
		if i >= len(palette) {
			line.Dashes = []vg.Length{2 * vg.Millimeter, vg.Millimeter}
		}
		p.Add(line)
		if c.Marks && marks != nil {
			marks.GlyphStyle = draw.GlyphStyle{Color: line.Color, Radius: markRadius, Shape: draw.CircleGlyph{}}
			p.Add(marks)
		}
		if named {
			legend.Add(series.Name, line)
		}
	}
	return p, nil
}

// drawable returns the points that an axis has a place for.
func (c Picture) drawable(points []Point) plotter.XYs {
	var xys plotter.XYs
	for _, p := range points {
		if c.X.holds(p.X) && c.Y.holds(p.Y) {
			xys = append(xys, plotter.XY(p))
		}
	}
	return xys
}

func (a Axis) holds(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (v > 0 || !a.Log)
}

// set gives a plot's axis its scale and numbers.
func (a Axis) set(axis *plot.Axis) {
	axis.Label.Padding = font.Length(edge)
	if a.Log {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if a.Ticks != nil {
		axis.Tick.Marker = plot.ConstantTicks(labelled(a.Ticks))
	}
}

// span is the smallest and largest of a coordinate of all points that can be drawn.
func (c Picture) span(of func(Point) float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, panel := range c.Panels {
		for _, series := range panel.Series {
			for _, xy := range c.drawable(series.Points) {
				low, high = min(low, of(Point(xy))), max(high, of(Point(xy)))
			}
		}
	}
	return low, high
}

// widen leaves a little room on both sides.
func widen(low, high float64, log bool) (float64, float64) {
	const room = 0.03
	if log {
		factor := max(math.Pow(high/low, room), 1.02)
		return low / factor, high * factor
	}
	gap := max(room*(high-low), 1e-3*max(math.Abs(high), 1e-9))
	return low - gap, high + gap
}
