package figure

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
)

// colouring maps values to colours.
type colouring struct {
	scale     Scale
	low, high float64 // values at the ends of the scale
	diverging bool
	none      bool // there are no values
}

// colouringOf fits a scale to values: symmetric around 0 if diverging, otherwise from the smallest
// to the largest value.
func colouringOf(rows [][]float64, diverging bool) colouring {
	values := newScale(false, nil)
	for _, row := range rows {
		for _, v := range row {
			values.add(v)
		}
	}
	c := colouring{scale: Sequential(), low: values.low, high: values.high, diverging: diverging, none: values.low > values.high}
	if c.none {
		c.low, c.high = 0, 1
	}
	if diverging {
		c.high = max(math.Abs(c.low), math.Abs(c.high))
		c.low, c.scale = -c.high, Diverging()
	}
	return c
}

// at returns a value's position in the scale, from 0 to 1.
func (c colouring) at(v float64) float64 {
	if c.high == c.low {
		return 0.5
	}
	return max(0, min(1, (v-c.low)/(c.high-c.low)))
}

// image returns an image of the given size in pixels, in which each value fills its cell with
// its colour. If cells are smaller than pixels, a pixel shows the strongest colour among its
// cells; it is transparent if they have no value.
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

// strongest returns the strongest value among the columns that share pixel x of an image of
// the given width.
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
	barGap   = 12.0 // distance from what it explains
	barWidth = 12.0
	barLeast = 90.0 // smallest height
	barMost  = 320.0
)

// bar lays out the colour bar with its numbers next to something of the given height; without
// values it is empty.
func (c colouring) bar(t typesetter, beside float64) picture {
	if c.none {
		return picture{}
	}
	bar := t.chart("", barWidth, math.Round(max(barLeast, min(barMost, beside))))
	s := scale{low: c.low, high: c.high}
	marks := s.ticks(max(2, min(6, int(bar.height/30))))
	for about := 4; len(marks) < 3 && about < 8; about++ {
		marks = s.ticks(about)
	}
	bar.X.Min, bar.X.Max, bar.Y.Min, bar.Y.Max, bar.Y.Tick.Marker = 0, 1, c.low, c.high, plot.ConstantTicks(marks)
	bar.HideX()
	steps := [][]float64{{c.low}}
	if c.low < c.high {
		steps = make([][]float64, 256)
		for i := range steps {
			steps[i] = []float64{c.high + (c.low-c.high)*(float64(i)/255)}
		}
	}
	bar.image(c, steps)
	return tiled([]chart{bar}, 1, 0)
}

// dark tells whether a value's colour needs light text.
func (c colouring) dark(v float64) bool {
	return color.GrayModel.Convert(c.scale.At(c.at(v))).(color.Gray).Y < 140
}
