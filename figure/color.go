package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/palette/brewer"
)

// Scale is a colour scale: evenly spaced colours from ColorBrewer, with mixtures between them.
type Scale struct{ colors []color.Color }

// Diverging goes from blue (0) through light grey (1/2) to red (1), with the same lightness in both
// halves: the hue shows a value's sign, the darkness its size.
func Diverging() Scale {
	colors := slices.Clone(brewer.RdBu[11].Color)
	slices.Reverse(colors)
	return Scale{colors}
}

// Sequential goes from pale yellow (0) through green to dark blue (1), and becomes steadily darker.
func Sequential() Scale { return Scale{brewer.YlGnBu[9].Color} }

// Intensity goes from nearly white (0) to dark blue (1), for values that are mostly near 0.
func Intensity() Scale { return Scale{brewer.Blues[9].Color} }

// At returns the colour at t, which is clamped to [0, 1].
func (s Scale) At(t float64) color.NRGBA {
	at := max(0, min(1, t)) * float64(len(s.colors)-1)
	i := min(int(at), len(s.colors)-2)
	return blend(opaque(s.colors[i]), opaque(s.colors[i+1]), at-float64(i))
}

// opaque converts a colour to sRGB bytes.
func opaque(c color.Color) color.NRGBA { return color.NRGBAModel.Convert(c).(color.NRGBA) }

// seriesColors is the number of colours for series.
const seriesColors = 6

// Color returns the colour of series i of Lines; the colours repeat after the last.
func Color(i int) color.NRGBA {
	colors := [seriesColors]color.NRGBA{
		{R: 0x33, G: 0x66, B: 0xaa, A: 0xff},
		{R: 0xdd, G: 0x88, B: 0x33, A: 0xff},
		{R: 0x55, G: 0x99, B: 0x66, A: 0xff},
		{R: 0xbb, G: 0x44, B: 0x55, A: 0xff},
		{R: 0x88, G: 0x66, B: 0xaa, A: 0xff},
		{R: 0x77, G: 0x88, B: 0x99, A: 0xff},
	}
	return colors[i%seriesColors]
}

// Signed returns the colour for a value's sign: blue below 0, red above, as in Diverging.
func Signed(v float64) color.NRGBA {
	if v < 0 {
		return Diverging().At(0.2)
	}
	return Diverging().At(0.8)
}

// fade returns a paler colour, for error bars and for a line's values before smoothing.
func fade(c color.NRGBA) color.NRGBA { return blend(c, white, 0.4) }
func pale(c color.NRGBA) color.NRGBA { return blend(c, white, 0.65) }

// blend mixes a share of another colour into a colour.
func blend(c, other color.NRGBA, share float64) color.NRGBA {
	channel := func(a, b uint8) uint8 { return uint8((1-share)*float64(a) + share*float64(b) + 0.5) }
	return color.NRGBA{R: channel(c.R, other.R), G: channel(c.G, other.G), B: channel(c.B, other.B), A: 0xff}
}
