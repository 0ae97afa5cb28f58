package figure

import (
	"image/color"

	typeset "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// picture is a drawing of known size, in px.
type picture struct {
	width, height float64
	top           float64 // where the body of its first chart begins
	paint         func(p painter)
}

// beside puts another picture to the right of this one, with the bodies aligned.
func (d picture) beside(other picture, gap float64) picture {
	if other.width == 0 {
		return d
	}
	top := max(d.top, other.top)
	return picture{d.width + gap + other.width, top + max(d.height-d.top, other.height-other.top), top, func(p painter) {
		d.paint(p.moved(0, top-d.top))
		other.paint(p.moved(d.width+gap, top-other.top))
	}}
}

// painter draws on a canvas, in px from a corner to the right and down.
type painter struct {
	typesetter
	canvas vg.Canvas
	x, y   float64 // the corner
	bottom float64 // the canvas' height
}

// moved returns the painter with its corner at another point.
func (p painter) moved(x, y float64) painter {
	p.x, p.y = p.x+x, p.y+y
	return p
}

func (p painter) point(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(p.x+x) * px, Y: vg.Length(p.bottom-p.y-y) * px}
}

// Greys.
var (
	white   = color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
	black   = color.NRGBA{R: 0x1a, G: 0x1a, B: 0x1a, A: 0xff}
	grey    = color.NRGBA{R: 0x66, G: 0x66, B: 0x66, A: 0xff}
	faint   = color.NRGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}
	outline = color.NRGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}
)

// textStyle is the style of a text; the zero value is black, of tickSize, to the right of its
// point.
type textStyle struct {
	size  float64
	bold  bool
	color color.Color
	align float64 // share of its width that lies left of its point
}

// text writes a line; the point is at half the height of its letters.
func (p painter) text(x, y float64, text string, style textStyle) {
	if style.size == 0 {
		style.size = tickSize
	}
	if style.color == nil {
		style.color = black
	}
	p.Draw(p.canvas, text, typeset.Style{Color: style.color, Font: sans(style.size, style.bold), XAlign: typeset.XAlignment(-style.align), YAlign: middle},
		p.point(x, y))
}

// within returns a gonum canvas for a rectangle at the corner.
func (p painter) within(width, height float64) draw.Canvas {
	return draw.Canvas{Canvas: p.canvas, Rectangle: vg.Rectangle{Min: p.point(0, height), Max: p.point(width, 0)}}
}

// stroke returns a line style with the given width in px.
func stroke(c color.Color, width float64, dashes ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Length(width) * px, Dashes: dashes}
}

// fill fills a rectangle.
func (p painter) fill(x, y, width, height float64, c color.Color) {
	p.canvas.SetColor(c)
	p.canvas.Fill(p.moved(x, y).within(width, height).Path())
}

// frame draws the outline of a canvas.
func frame(c draw.Canvas) {
	c.SetLineStyle(stroke(outline, 1))
	c.Stroke(c.Path())
}

// curve draws a cubic Bezier curve from the first of its points to the last.
func (p painter) curve(points [4][2]float64, c color.Color, width float64) {
	at := func(i int) vg.Point { return p.point(points[i][0], points[i][1]) }
	var path vg.Path
	path.Move(at(0))
	path.CubeTo(at(1), at(2), at(3))
	on := draw.Canvas{Canvas: p.canvas}
	on.SetLineStyle(stroke(c, width))
	on.Stroke(path)
}
