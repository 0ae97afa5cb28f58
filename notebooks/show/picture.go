package show

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
)

const (
	mimePNG = "image/png"
	mimeSVG = "image/svg+xml"
	density = 2 // pixels of figure.PNG for a pixel of the page
)

// Figure shows a figure as a PNG picture, or a Table as Table does.
func Figure(f figure.Figure) (Output, error) { return Figures(1, f) }

// Figures shows figures as one PNG picture, in rows of the given number of columns.
func Figures(columns int, figures ...figure.Figure) (Output, error) {
	if columns < 1 || len(figures) == 0 {
		return Output{}, errors.Errorf("show: figures: want at least one figure and one column, got %d and %d", len(figures), columns)
	}
	if t, ok := figures[0].(figure.Table); ok && len(figures) == 1 {
		return Table(t), nil
	}
	var pictures []image.Image
	var titles []string
	for _, f := range figures {
		picture, err := draw1(f)
		if err != nil {
			return Output{}, err
		}
		pictures, titles = append(pictures, picture), append(titles, f.Heading())
	}
	page := pictures[0]
	if len(pictures) > 1 {
		page = arrange(columns, pictures)
	}
	var text bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&text, reduced(page)); err != nil {
		return Output{}, errors.Wrap(err, "show: figures")
	}
	o := output(titles[0], strings.Join(titles, "\n"), mimePNG, text.Bytes())
	o.metadata = map[string]any{mimePNG: map[string]any{"width": page.Bounds().Dx() / density}}
	return o, nil
}

// SVG shows a figure as an SVG picture: it is sharp at every size, but takes more space in the file
// if the figure has many parts.
func SVG(f figure.Figure) (Output, error) {
	if f == nil {
		return Output{}, errors.New("show: want a figure, got nil")
	}
	text, err := figure.SVG(f)
	if err != nil {
		return Output{}, err
	}
	return output(f.Heading(), f.Heading(), mimeSVG, string(text)), nil
}

// draw1 draws a single figure.
func draw1(f figure.Figure) (image.Image, error) {
	if f == nil {
		return nil, errors.New("show: want a figure, got nil")
	}
	text, err := figure.PNG(f)
	if err != nil {
		return nil, err
	}
	picture, err := png.Decode(bytes.NewReader(text))
	return picture, errors.Wrapf(err, "show: figure %q", f.Heading())
}

// arrange puts pictures in rows on a white page: each column is as wide as its widest picture, each
// row as high as its highest.
func arrange(columns int, pictures []image.Image) image.Image {
	columns = min(columns, len(pictures))
	widths := make([]int, columns)
	heights := make([]int, (len(pictures)+columns-1)/columns)
	for i, p := range pictures {
		widths[i%columns] = max(widths[i%columns], p.Bounds().Dx())
		heights[i/columns] = max(heights[i/columns], p.Bounds().Dy())
	}
	page := image.NewRGBA(image.Rect(0, 0, sum(widths), sum(heights)))
	draw.Draw(page, page.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	for i, p := range pictures {
		at := image.Pt(sum(widths[:i%columns]), sum(heights[:i/columns]))
		draw.Draw(page, p.Bounds().Sub(p.Bounds().Min).Add(at), p, p.Bounds().Min, draw.Over)
	}
	return page
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}
