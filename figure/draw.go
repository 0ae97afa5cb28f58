package figure

import (
	"bytes"
	"image/png"
	"math"

	"github.com/pkg/errors"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// density is the number of PNG pixels in a CSS pixel.
const density = 2

// SVG draws a figure as an SVG picture with a white background, or a dark one if the viewer prefers
// it (the CSS feature prefers-color-scheme). The size of the picture is bounded whatever the data:
// labels are thinned, and where several values share a pixel, it shows the strongest colour. A
// Table cannot be drawn.
func SVG(f Figure) ([]byte, error) {
	drawn, err := laidOut(f, newTypesetter(false))
	if err != nil {
		return nil, err
	}
	canvas := vgsvg.New(vg.Length(drawn.width)*px, vg.Length(drawn.height)*px)
	drawn.onto(canvas, false)
	var text bytes.Buffer
	if _, err := canvas.WriteTo(&text); err != nil {
		return nil, errors.WithStack(err)
	}
	// Other fonts of the same widths for viewers without the one measured, and the right type for
	// images. A quotation mark in a text is escaped, so only markup matches.
	svg := bytes.ReplaceAll(text.Bytes(), []byte(`style="font-family:Liberation Sans;`), []byte(`style="font-family:Liberation Sans,Arial,Helvetica,sans-serif;`))
	svg = bytes.ReplaceAll(svg, []byte(`font-variant:none;`), nil)
	svg = bytes.ReplaceAll(svg, []byte(`href="data:image/jpg;`), []byte(`href="data:image/png;`))
	return bytes.Replace(svg, []byte("<g "), []byte(darkSheet+"<g "), 1), nil
}

// darkSheet inverts the lightness of a picture, whose size is in points, if its viewer prefers dark
// pages; hues stay the same. Viewers without that feature show the light picture.
const darkSheet = `<style>:root{color-scheme:light dark}
@media (prefers-color-scheme:dark){svg[width$=pt]{filter:invert(.94) hue-rotate(180deg)}}</style>
`

// PNG draws a figure as SVG does, as a PNG picture with two pixels for each CSS pixel. Characters
// that the font lacks are written like \u4E2D. A Table cannot be drawn.
func PNG(f Figure) ([]byte, error) {
	drawn, err := laidOut(f, newTypesetter(true))
	if err != nil {
		return nil, err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(drawn.width)*px, vg.Length(drawn.height)*px), vgimg.UseDPI(96*density))
	drawn.onto(canvas, true)
	var file bytes.Buffer
	if err := png.Encode(&file, canvas.Image()); err != nil {
		return nil, errors.WithStack(err)
	}
	return file.Bytes(), nil
}

// onto draws the picture on a canvas.
func (d picture) onto(canvas vg.Canvas, escape bool) {
	p := painter{typesetter: newTypesetter(escape), canvas: canvas, bottom: d.height}
	p.fill(0, 0, d.width, d.height, white)
	d.paint(p)
}

// laidOut returns the picture of a figure.
func laidOut(f Figure, t typesetter) (picture, error) {
	if err := Check(f); err != nil {
		return picture{}, err
	}
	drawn, is := f.(interface{ layout(t typesetter) picture })
	if !is {
		return picture{}, errors.Errorf("figure: want a figure that can be drawn, got a %T: use its Text, Markdown or CSV", f)
	}
	return t.framed(f.Heading(), drawn.layout(t)), nil
}

// Sizes of pictures, in px.
const (
	margin    = 14.0  // around a picture
	pageWidth = 800.0 // width that a page shows without scaling; wide figures stay within it if their data allow
)

// framed puts a title above a picture and a margin around it, and rounds both sizes to whole
// numbers.
func (t typesetter) framed(title string, inner picture) picture {
	width := math.Ceil(max(inner.width, 260))
	lines := t.wrap(Visible(title), titleSize, width, true, 3)
	const lineHeight = 1.35 * titleSize
	top := margin
	if len(lines) > 0 {
		top += math.Ceil(float64(len(lines))*lineHeight + 8)
	}
	return picture{width + 2*margin, math.Ceil(inner.height) + top + margin, top, func(p painter) {
		for i, line := range lines {
			p.text(margin, margin+(float64(i)+0.5)*lineHeight, line, textStyle{size: titleSize, bold: true})
		}
		inner.paint(p.moved(margin, top))
	}}
}
