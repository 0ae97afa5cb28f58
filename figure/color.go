package figure

import (
	"image/color"
	"math"
)

// Scale is a colour scale: colours evenly spaced in lightness along a path through OKLab, a
// space in which equal distances look equal (B. Ottosson, "A perceptual color space for image
// processing", 2020).
type Scale struct{ stops []oklab }

// Diverging goes from blue (0) over light grey (1/2) to red (1), both halves alike in lightness:
// a value's sign is its hue, its size its darkness.
func Diverging() Scale {
	const dark, light, chroma = 0.40, 0.93, 0.145
	const blue, red = 258, 27
	return Scale{[]oklab{
		lch(dark, 0.8*chroma, blue), lch((dark+light)/2-0.02, chroma, blue), lch(light, 0, 0),
		lch((dark+light)/2-0.02, chroma, red), lch(dark, chroma, red),
	}}
}

// Sequential goes from pale yellow (0) over green to dark blue (1), darker all the way.
func Sequential() Scale {
	return Scale{[]oklab{lch(0.95, 0.07, 103), lch(0.79, 0.10, 165), lch(0.63, 0.105, 215), lch(0.47, 0.12, 255), lch(0.30, 0.11, 278)}}
}

// Intensity goes from nearly white (0) to dark blue (1), for values of which most are near 0.
func Intensity() Scale {
	return Scale{[]oklab{lch(0.975, 0.008, 250), lch(0.76, 0.09, 250), lch(0.54, 0.13, 255), lch(0.31, 0.11, 265)}}
}

// At is the colour at t in [0, 1]; t beyond is clamped.
func (s Scale) At(t float64) color.NRGBA {
	at := max(0, min(1, t)) * float64(len(s.stops)-1)
	i := min(int(at), len(s.stops)-2)
	return mix(s.stops[i], s.stops[i+1], at-float64(i)).rgb()
}

// oklab is a colour of the OKLab space: lightness 0 to 1, green to red, blue to yellow.
type oklab struct{ l, a, b float64 }

// lch is a colour by lightness, chroma and hue in degrees.
func lch(l, c, hue float64) oklab {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	return oklab{l, c * cos, c * sin}
}

func mix(from, to oklab, t float64) oklab {
	return oklab{from.l + t*(to.l-from.l), from.a + t*(to.a-from.a), from.b + t*(to.b-from.b)}
}

// rgb is the colour as sRGB, cut off where a screen has no such colour (Ottosson's matrices).
func (c oklab) rgb() color.NRGBA {
	l := cube(c.l + 0.3963377774*c.a + 0.2158037573*c.b)
	m := cube(c.l - 0.1055613458*c.a - 0.0638541728*c.b)
	s := cube(c.l - 0.0894841775*c.a - 1.2914855480*c.b)
	return color.NRGBA{
		R: encoded(4.0767416621*l - 3.3077115913*m + 0.2309699292*s),
		G: encoded(-1.2684380046*l + 2.6097574011*m - 0.3413193965*s),
		B: encoded(-0.0041960863*l - 0.7034186147*m + 1.7076147010*s),
		A: 0xff,
	}
}

func cube(v float64) float64 { return v * v * v }

// encoded is a linear channel as sRGB's byte (IEC 61966-2-1).
func encoded(v float64) uint8 {
	if v <= 0.0031308 {
		v *= 12.92
	} else {
		v = 1.055*math.Pow(v, 1/2.4) - 0.055
	}
	return uint8(math.Round(255 * max(0, min(1, v))))
}

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
