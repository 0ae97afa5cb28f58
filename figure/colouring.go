package figure

import (
	"image"
	"image/color"
	"math"
)

// colouring is how values become colours.
type colouring struct {
	scale     Scale
	low, high float64 // the values at the scale's ends
	diverging bool
	none      bool // there is no value
}

// colouringOf fits a scale to values: around 0 if diverging, else from the smallest to the
// largest value.
func colouringOf(rows [][]float64, diverging bool) colouring {
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range rows {
		for _, v := range row {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	c := colouring{scale: Sequential(), low: low, high: high, diverging: diverging, none: low > high}
	if c.none {
		c.low, c.high = 0, 1
	}
	if diverging {
		c.high = max(math.Abs(c.low), math.Abs(c.high))
		c.low, c.scale = -c.high, Diverging()
	}
	return c
}

// at is a value's place in the scale, 0 to 1.
func (c colouring) at(v float64) float64 {
	if c.high == c.low {
		return 0.5
	}
	return max(0, min(1, (v/2-c.low/2)/(c.high/2-c.low/2)))
}

// image is an image of so many pixels, values' cells as colours; where cells are smaller than
// pixels the strongest colour is shown, and no value is transparent.
func (c colouring) image(values [][]float64, width, height int) image.Image {
	const shades = 255
	palette := color.Palette{color.NRGBA{}}
	for i := range shades {
		palette = append(palette, c.scale.At(float64(i)/(shades-1)))
	}
	picture := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	previous := [2]int{-1, -1}
	for y := range height {
		from, to := share(y, height, len(values))
		line := picture.Pix[y*picture.Stride:][:width]
		if rows := [2]int{from, to}; rows == previous {
			copy(line, picture.Pix[(y-1)*picture.Stride:])
			continue
		}
		previous = [2]int{from, to}
		for x := range line {
			if v := c.strongest(values[from:to], x, width); finite(v) {
				line[x] = uint8(1 + math.Round(c.at(v)*(shades-1)))
			}
		}
	}
	return picture
}

// strongest is the strongest value of the columns at x of width places.
func (c colouring) strongest(rows [][]float64, x, width int) float64 {
	strongest := math.NaN()
	for _, row := range rows {
		from, to := share(x, width, len(row))
		for _, v := range row[from:to] {
			strongest = stronger(strongest, v, c.diverging)
		}
	}
	return strongest
}

// Sizes of a colour bar, in px.
const (
	barGap   = 16.0 // from what it explains
	barWidth = 12.0
)

// bar lays out the colours' bar with its numbers.
func (c colouring) bar(t typesetter, height float64) picture {
	marks := ticks(c.low, c.high, max(2, min(6, int(height/30))))
	for about := 4; len(marks) < 3 && about < 8; about++ {
		marks = ticks(c.low, c.high, about)
	}
	labels := make([]string, len(marks))
	for i, m := range marks {
		labels[i] = m.label
	}
	steps := make([][]float64, 256)
	for i := range steps {
		steps[i] = []float64{c.high + (c.low-c.high)*(float64(i)/255)}
	}
	if c.low == c.high {
		steps = [][]float64{{c.low}}
	}
	width := barWidth + 8 + t.widest(labels, tickSize)
	return picture{width, height, func(p painter) {
		p.image(0, 0, barWidth, height, c.image(steps, barWidth*density, int(height*density)))
		p.frame(0, 0, barWidth, height, outline)
		for _, m := range marks {
			y := (1 - c.at(m.value)) * height
			p.line([][2]float64{{barWidth, y}, {barWidth + 4, y}}, grey, 1)
			p.text(barWidth+7, y, m.label, textStyle{})
		}
	}}
}
