package figure

import (
	"fmt"
	"strings"
	"unicode/utf8"

	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	typeset "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// px is a CSS pixel, the unit of all sizes in this package.
const px = 0.75 * vg.Length(1)

// Sizes of text, in px.
const (
	titleSize = 14.0
	labelSize = 12.0 // axis labels and legends
	tickSize  = 11.0 // numbers and names along axes
	noteSize  = 10.0
	tinySize  = 8.5 // names along crowded axes
)

// typesetter measures and writes text, also that of gonum's plots. The font has no glyphs for the
// signs that stand for invisible characters, so typesetter draws them.
type typesetter struct {
	typeset.Plain
	escape bool // write codes for characters that the font lacks; otherwise leave them to the viewer's fonts
}

func newTypesetter(escape bool) typesetter {
	return typesetter{typeset.Plain{Fonts: font.NewCache(liberation.Collection())}, escape}
}

// sans returns the font of a size in px.
func sans(size float64, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size) * px}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

// middle centres text vertically on its capital letters.
const middle = typeset.YAlignment(-0.31)

// Box returns the size of a line.
func (t typesetter) Box(line string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = t.Plain.Box("", f)
	for _, r := range t.runs(line, f) {
		width += r.width
	}
	return width, height, depth
}

// Draw writes a line.
func (t typesetter) Draw(c vg.Canvas, line string, style typeset.Style, at vg.Point) {
	width, height, depth := t.Box(line, style.Font)
	offset := vg.Point{X: width * vg.Length(style.XAlign), Y: (height + depth) * vg.Length(style.YAlign)}
	c.SetColor(style.Color)
	if style.Rotation == 0 {
		t.write(c, at.Add(offset), line, style)
		return
	}
	c.Push()
	c.Translate(at)
	c.Rotate(style.Rotation)
	t.write(c, offset, line, style)
	c.Pop()
}

// run is a piece of text: characters of the font, or a glyph to draw.
type run struct {
	text  string
	glyph *glyph
	width vg.Length
}

// runs splits a text into runs.
func (t typesetter) runs(text string, f font.Font) []run {
	face := t.Fonts.Lookup(f, f.Size)
	var runs []run
	var plain strings.Builder
	wider := vg.Length(0) // extra width of characters that the font lacks
	flush := func() {
		if plain.Len() > 0 {
			runs = append(runs, run{text: plain.String(), width: face.Width(plain.String()) + wider})
			plain.Reset()
			wider = 0
		}
	}
	var buffer sfnt.Buffer
	for _, r := range text {
		if r == '∅' {
			r = 'Ø' // a character of the same shape that the font has
		}
		if s := drawnGlyph(r); s != nil {
			flush()
			runs = append(runs, run{glyph: s, width: vg.Length(s.advance) * f.Size})
			continue
		}
		index, err := face.Face.GlyphIndex(&buffer, r)
		switch missing := index == 0 || err != nil; {
		case missing && t.escape:
			fmt.Fprintf(&plain, `\u%04X`, r)
		case missing:
			plain.WriteRune(r)
			wider += max(0, f.Size-face.Width(string(r))) // about an em
		default:
			plain.WriteRune(r)
		}
	}
	flush()
	return runs
}

// width returns a line's width in px.
func (t typesetter) width(text string, size float64, bold bool) float64 {
	width, _, _ := t.Box(text, sans(size, bold))
	return float64(width / px)
}

// widest returns the largest width of some texts.
func (t typesetter) widest(texts []string, size float64) float64 {
	width := 0.0
	for _, text := range texts {
		width = max(width, t.width(text, size, false))
	}
	return width
}

// cut shortens a text to a width, with "…" for what it leaves out.
func (t typesetter) cut(text string, size, width float64, bold bool) string {
	if utf8.RuneCountInString(text) > 2000 {
		text = string([]rune(text)[:2000]) + "…"
	}
	if t.width(text, size, bold) <= width {
		return text
	}
	runes := []rune(text)
	low, high := 0, len(runes) // low characters fit, high or more do not
	for high-low > 1 {
		if middle := (low + high) / 2; t.width(string(runes[:middle])+"…", size, bold) <= width {
			low = middle
		} else {
			high = middle
		}
	}
	return string(runes[:low]) + "…"
}

// wrap breaks a text at spaces into at most the given number of lines.
func (t typesetter) wrap(text string, size, width float64, bold bool, lines int) []string {
	words := strings.Fields(text)
	var wrapped []string
	for len(words) > 0 {
		if len(wrapped) == lines-1 {
			return append(wrapped, t.cut(strings.Join(words, " "), size, width, bold))
		}
		n := 1
		for n < len(words) && t.width(strings.Join(words[:n+1], " "), size, bold) <= width {
			n++
		}
		wrapped = append(wrapped, t.cut(strings.Join(words[:n], " "), size, width, bold))
		words = words[n:]
	}
	return wrapped
}

// write writes a line that starts at a point of its baseline.
func (t typesetter) write(c vg.Canvas, at vg.Point, line string, style typeset.Style) {
	for _, r := range t.runs(line, style.Font) {
		if r.glyph != nil {
			r.glyph.draw(draw.Canvas{Canvas: c}, at, style)
		} else {
			c.FillString(t.Fonts.Lookup(style.Font, style.Font.Size), at, r.text)
		}
		at.X += r.width
	}
}

// glyph is a character to draw: strokes through points, in ems from the left end of the baseline.
type glyph struct {
	advance float64
	strokes [][][2]float64
}

// drawnGlyph returns the glyph for a character, nil if the font has it.
func drawnGlyph(r rune) *glyph {
	switch r {
	case '␣':
		return &glyph{0.58, [][][2]float64{{{0.08, 0.12}, {0.08, -0.08}, {0.5, -0.08}, {0.5, 0.12}}}}
	case '⏎':
		return &glyph{0.86, [][][2]float64{{{0.76, 0.66}, {0.76, 0.26}, {0.1, 0.26}}, {{0.3, 0.46}, {0.1, 0.26}, {0.3, 0.06}}}}
	case '⇥':
		return &glyph{0.9, [][][2]float64{{{0.06, 0.3}, {0.68, 0.3}}, {{0.5, 0.48}, {0.68, 0.3}, {0.5, 0.12}}, {{0.78, 0.56}, {0.78, 0.04}}}}
	}
	return nil
}

// draw draws the glyph at a point of the baseline.
func (s *glyph) draw(c draw.Canvas, at vg.Point, style typeset.Style) {
	em := style.Font.Size
	for _, stroke := range s.strokes {
		var points []vg.Point
		for _, p := range stroke {
			points = append(points, at.Add(vg.Point{X: vg.Length(p[0]) * em, Y: vg.Length(p[1]) * em}))
		}
		c.StrokeLines(draw.LineStyle{Color: style.Color, Width: 0.075 * em}, points)
	}
}
