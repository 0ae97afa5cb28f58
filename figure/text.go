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

// typesetter measures and writes text, including the text of gonum's plots.
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
	return t.Plain.Box(t.drawable(line, f), f)
}

// Draw writes a line.
func (t typesetter) Draw(c vg.Canvas, line string, style typeset.Style, at vg.Point) {
	line = t.drawable(line, style.Font)
	width, height, depth := t.Plain.Box(line, style.Font)
	offset := vg.Point{X: width * vg.Length(style.XAlign), Y: (height + depth) * vg.Length(style.YAlign)}
	face := t.Fonts.Lookup(style.Font, style.Font.Size)
	c.SetColor(style.Color)
	switch {
	case line == "":
	case style.Rotation == 0:
		c.FillString(face, at.Add(offset), line)
	default:
		c.Push()
		c.Translate(at)
		c.Rotate(style.Rotation)
		c.FillString(face, offset, line)
		c.Pop()
	}
}

// alike replaces signs by others of a like shape that the font has.
var alike = strings.NewReplacer("∅", "Ø", "␣", "·", "⏎", "¶", "⇥", "→")

// drawable returns the text with characters that the font has, as far as possible.
func (t typesetter) drawable(text string, f font.Font) string {
	text = alike.Replace(text)
	if !t.escape {
		return text
	}
	face := t.Fonts.Lookup(f, f.Size)
	var buffer sfnt.Buffer
	var written strings.Builder
	for _, r := range text {
		if index, err := face.Face.GlyphIndex(&buffer, r); index == 0 || err != nil {
			fmt.Fprintf(&written, `\u%04X`, r)
		} else {
			written.WriteRune(r)
		}
	}
	return written.String()
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
