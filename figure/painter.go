package figure

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
)

// picture is a drawing of known size, in px.
type picture struct {
	width, height float64
	paint         func(p painter)
}

// painter draws on a canvas in px from a corner rightwards and down.
type painter struct {
	typesetter
	canvas vg.Canvas
	x, y   float64 // the corner
	bottom float64 // the canvas' height
}

// moved is the painter with its corner elsewhere.
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

// textStyle is how text is written; the zero value is black, of tickSize, to the right of its point.
type textStyle struct {
	size   float64
	bold   bool
	color  color.Color
	align  float64 // how much of its width is left of (vertical: below) its point
	upward bool    // from the bottom up
}

// text writes a line; the point is at half its letters' height.
func (p painter) text(x, y float64, text string, style textStyle) {
	if style.size == 0 {
		style.size = tickSize
	}
	if style.color == nil {
		style.color = black
	}
	const middle = 0.35 // of a size: half of a capital's height
	back := style.align * p.width(text, style.size, style.bold)
	p.canvas.SetColor(style.color)
	if !style.upward {
		p.write(p.canvas, p.point(x-back, y+middle*style.size), text, style.size, style.bold)
		return
	}
	p.canvas.Push()
	p.canvas.Translate(p.point(x+middle*style.size, y+back))
	p.canvas.Rotate(math.Pi / 2)
	p.write(p.canvas, vg.Point{}, text, style.size, style.bold)
	p.canvas.Pop()
}

// fill fills a rectangle.
func (p painter) fill(x, y, width, height float64, c color.Color) {
	p.canvas.SetColor(c)
	p.canvas.Fill(p.rectangle(x, y, width, height))
}

// frame draws a rectangle's outline.
func (p painter) frame(x, y, width, height float64, c color.Color) {
	p.style(c, 1)
	p.canvas.Stroke(p.rectangle(x, y, width, height))
}

func (p painter) rectangle(x, y, width, height float64) vg.Path {
	var path vg.Path
	path.Move(p.point(x, y))
	path.Line(p.point(x+width, y))
	path.Line(p.point(x+width, y+height))
	path.Line(p.point(x, y+height))
	path.Close()
	return path
}

func (p painter) style(c color.Color, width float64, dashes ...float64) {
	p.canvas.SetColor(c)
	p.canvas.SetLineWidth(vg.Length(width) * px)
	lengths := make([]vg.Length, len(dashes))
	for i, d := range dashes {
		lengths[i] = vg.Length(d) * px
	}
	p.canvas.SetLineDash(lengths, 0)
}

// line draws a line through points (x, y).
func (p painter) line(points [][2]float64, c color.Color, width float64, dashes ...float64) {
	p.style(c, width, dashes...)
	var path vg.Path
	for i, at := range points {
		if i == 0 {
			path.Move(p.point(at[0], at[1]))
		} else {
			path.Line(p.point(at[0], at[1]))
		}
	}
	p.canvas.Stroke(path)
}

// curve draws a cubic Bezier curve.
func (p painter) curve(from, control, control2, to [2]float64, c color.Color, width float64) {
	p.style(c, width)
	var path vg.Path
	path.Move(p.point(from[0], from[1]))
	path.CubeTo(p.point(control[0], control[1]), p.point(control2[0], control2[1]), p.point(to[0], to[1]))
	p.canvas.Stroke(path)
}

// dot draws a filled circle.
func (p painter) dot(x, y, radius float64, c color.Color) {
	p.canvas.SetColor(c)
	var path vg.Path
	path.Move(p.point(x+radius, y))
	path.Arc(p.point(x, y), vg.Length(radius)*px, 0, 2*math.Pi)
	path.Close()
	p.canvas.Fill(path)
}

// image draws an image into a rectangle.
func (p painter) image(x, y, width, height float64, i image.Image) {
	p.canvas.DrawImage(vg.Rectangle{Min: p.point(x, y+height), Max: p.point(x+width, y)}, i)
}
