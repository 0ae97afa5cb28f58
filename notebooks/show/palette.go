package show

import (
	"cmp"
	"image"
	"image/color"
	"maps"
	"math"
	"slices"
)

// paletteSize is how many colours a PNG with a palette can have: a byte a pixel instead of four.
const paletteSize = 256

// reduced returns a picture in 256 colours, others becoming the nearest of those. A figure's areas
// and lines have few colours; many soften edges. Notebooks are kept under version control: their
// files are less than half as large for it.
func reduced(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	counts := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[rgba(picture.At(x, y))]++
		}
	}
	colours := chosen(counts)
	index := map[color.RGBA]uint8{} // of the nearest colour
	for c := range counts {
		index[c] = uint8(colours.Index(c))
	}
	result := image.NewPaletted(image.Rect(0, 0, bounds.Dx(), bounds.Dy()), colours)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			result.SetColorIndex(x, y, index[rgba(picture.At(bounds.Min.X+x, bounds.Min.Y+y))])
		}
	}
	return result
}

// chosen returns the more frequent half of a palette, and for the other half colours from which
// those before are farthest. Their order depends on the counts alone.
func chosen(counts map[color.RGBA]int) color.Palette {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A))
	})
	size := min(len(all), paletteSize)
	var palette color.Palette
	distance := slices.Repeat([]int{math.MaxInt}, len(all)) // to the nearest chosen one
	for len(palette) < size {
		next := len(palette)
		if next >= size/2 {
			next = slices.Index(distance, slices.Max(distance))
		}
		palette = append(palette, all[next])
		for i, c := range all {
			distance[i] = min(distance[i], apart(c, all[next]))
		}
	}
	return palette
}

// apart is the squared distance of two colours.
func apart(a, b color.RGBA) int {
	r, g, l, o := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B), int(a.A)-int(b.A)
	return r*r + g*g + l*l + o*o
}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }
