package show

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"maps"
	"math"
	"slices"
)

// paletteSize is how many colours a PNG with a palette can have; it takes one byte a pixel instead
// of four.
const paletteSize = 256

// rgba is a colour: red, green, blue, opacity.
type rgba [4]uint8

// reduced converts a picture to 256 colours; other colours become the nearest of these. The areas
// and lines of a figure have few colours; the others smooth its edges. This makes notebooks, which
// are under version control, less than half as large.
func reduced(picture image.Image) *image.Paletted {
	bounds := image.Rectangle{Max: picture.Bounds().Size()}
	whole := image.NewRGBA(bounds)
	draw.Draw(whole, bounds, picture, picture.Bounds().Min, draw.Src)
	counts := map[rgba]int{}
	for pixel := range slices.Chunk(whole.Pix, 4) {
		counts[rgba(pixel)]++
	}
	result := image.NewPaletted(bounds, chosen(counts))
	index := map[rgba]uint8{} // index of the nearest colour
	for c := range counts {
		index[c] = uint8(result.Palette.Index(color.RGBA{c[0], c[1], c[2], c[3]}))
	}
	for i := range result.Pix {
		result.Pix[i] = index[rgba(whole.Pix[4*i:])]
	}
	return result
}

// chosen returns a palette: half of it the most frequent colours, the other half colours each of
// which is the farthest from those before. The order depends on the counts alone.
func chosen(counts map[rgba]int) color.Palette {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b rgba) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	size := min(len(all), paletteSize)
	var palette color.Palette
	distance := slices.Repeat([]int{math.MaxInt}, len(all)) // distance to the nearest chosen colour
	for len(palette) < size {
		next := len(palette)
		if next >= size/2 {
			next = slices.Index(distance, slices.Max(distance))
		}
		c := all[next]
		palette = append(palette, color.RGBA{c[0], c[1], c[2], c[3]})
		for i := range all {
			distance[i] = min(distance[i], apart(all[i], c))
		}
	}
	return palette
}

// apart returns the squared distance of two colours.
func apart(a, b rgba) int {
	sum := 0
	for i := range a {
		d := int(a[i]) - int(b[i])
		sum += d * d
	}
	return sum
}
