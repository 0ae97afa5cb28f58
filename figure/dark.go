package figure

import (
	"bytes"
	"fmt"
	"image/color"
)

// darkBackground is the background of a picture on a dark screen.
var darkBackground = color.NRGBA{R: 0x0d, G: 0x11, B: 0x17, A: 0xff}

// darkColors lists the colours of figures, apart from colour scales, each with the one that takes its place on a dark screen.
func darkColors() [][2]color.NRGBA {
	pairs := [][2]color.NRGBA{
		{white, darkBackground},
		{black, {R: 0xe6, G: 0xe9, B: 0xed, A: 0xff}},
		{grey, {R: 0x9d, G: 0xa5, B: 0xae, A: 0xff}},
		{faint, {R: 0x26, G: 0x2c, B: 0x34, A: 0xff}},
		{outline, {R: 0x6e, G: 0x76, B: 0x81, A: 0xff}},
		{boxColor, {R: 0x1b, G: 0x21, B: 0x2a, A: 0xff}},
	}
	own := []color.NRGBA{Signed(-1), Signed(1)}
	for i := range seriesColors {
		own = append(own, Color(i))
	}
	for _, c := range own {
		bright := blend(c, white, 0.4)
		pairs = append(pairs, [][2]color.NRGBA{{c, bright}, {fade(c), blend(bright, darkBackground, faded)}, {pale(c), blend(bright, darkBackground, paled)}}...)
	}
	return pairs
}

// Shares of the background in weaker colours. They are opaque, so that each has its own on a dark
// screen.
const (
	faded = 0.4  // error bars
	paled = 0.65 // what a line was before it was smoothed
)

func fade(c color.NRGBA) color.NRGBA { return blend(c, white, faded) }
func pale(c color.NRGBA) color.NRGBA { return blend(c, white, paled) }

// blend is a colour with a share of another.
func blend(c, other color.NRGBA, share float64) color.NRGBA {
	channel := func(a, b uint8) uint8 { return uint8((1-share)*float64(a) + share*float64(b) + 0.5) }
	return color.NRGBA{R: channel(c.R, other.R), G: channel(c.G, other.G), B: channel(c.B, other.B), A: 0xff}
}

// withDarkColors adds a style sheet to an SVG picture: on a screen that prefers dark pages its colours are others, those
// that are not opaque brighter, and the lightness of images (heatmaps, colour bars) is inverted with their hues kept, so
// that what was pale is dark. A viewer that knows nothing of it shows the light ones.
func withDarkColors(svg []byte) []byte {
	var rules bytes.Buffer
	for _, pair := range darkColors() {
		for _, property := range []string{"fill", "stroke"} {
			from := fmt.Sprintf("%s:#%02X%02X%02X", property, pair[0].R, pair[0].G, pair[0].B)
			if bytes.Contains(svg, []byte(from)) {
				fmt.Fprintf(&rules, "[style*=\"%s\"]{%s:#%02x%02x%02x!important}\n", from, property, pair[1].R, pair[1].G, pair[1].B)
			}
		}
	}
	if bytes.Contains(svg, []byte("-opacity:")) {
		rules.WriteString("[style*=\"-opacity:\"]{filter:brightness(1.4)}\n")
	}
	if bytes.Contains(svg, []byte("<image ")) {
		rules.WriteString("image{filter:invert(1) hue-rotate(180deg)}\n")
	}
	sheet := fmt.Sprintf("<style>:root{color-scheme:light dark}\n@media (prefers-color-scheme:dark){\n%s}</style>\n", rules.String())
	return bytes.Replace(svg, []byte("<g "), []byte(sheet+"<g "), 1)
}
