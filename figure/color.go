package figure

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot/palette/brewer"
)

// Scale is a colour scale: ColorBrewer's colours, evenly spaced, those between them mixed.
type Scale struct{ colors []color.Color }

// Diverging goes from blue (0) over light grey (1/2) to red (1), both halves alike in lightness:
// a value's sign is its hue, its size its darkness.
func Diverging() Scale {
	colors := slices.Clone(brewer.RdBu[11].Color)
	slices.Reverse(colors)
	return Scale{colors}
}

// Sequential goes from pale yellow (0) over green to dark blue (1), darker all the way.
func Sequential() Scale { return Scale{brewer.YlGnBu[9].Color} }

// Intensity goes from nearly white (0) to dark blue (1), for values of which most are near 0.
func Intensity() Scale { return Scale{brewer.Blues[9].Color} }

// At is the colour at t in [0, 1]; t beyond is clamped.
func (s Scale) At(t float64) color.NRGBA {
	at := max(0, min(1, t)) * float64(len(s.colors)-1)
	i := min(int(at), len(s.colors)-2)
	return blend(opaque(s.colors[i]), opaque(s.colors[i+1]), at-float64(i))
}

// opaque is a colour as sRGB's bytes.
func opaque(c color.Color) color.NRGBA { return color.NRGBAModel.Convert(c).(color.NRGBA) }

// seriesColors is the number of colours of series.
const seriesColors = 6

// Color is the colour of series i of Lines; after the last they begin again.
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

// Signed is the colour of a value by its sign: blue below 0, red above, as in Diverging.
func Signed(v float64) color.NRGBA {
	if v < 0 {
		return Diverging().At(0.2)
	}
	return Diverging().At(0.8)
}

// What is weaker than its series: error bars, and what a line was before it was smoothed.
func fade(c color.NRGBA) color.NRGBA { return blend(c, white, 0.4) }
func pale(c color.NRGBA) color.NRGBA { return blend(c, white, 0.65) }

// blend is a colour with a share of another.
func blend(c, other color.NRGBA, share float64) color.NRGBA {
	channel := func(a, b uint8) uint8 { return uint8((1-share)*float64(a) + share*float64(b) + 0.5) }
	return color.NRGBA{R: channel(c.R, other.R), G: channel(c.G, other.G), B: channel(c.B, other.B), A: 0xff}
}
