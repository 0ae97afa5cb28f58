package show

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/figure"
)

func bars(title string) figure.Bars {
	return figure.Bars{Title: title, YLabel: "share", Labels: []string{"a", "b"}, Values: []float64{1, -2}}
}

func decoded(t *testing.T, o Output) image.Image {
	t.Helper()
	raw, ok := o.Render().Data[mimePNG].([]byte)
	require.True(t, ok)
	picture, err := png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	return picture
}

func at8(c color.Color) rgba {
	x := color.RGBAModel.Convert(c).(color.RGBA)
	return rgba{x.R, x.G, x.B, x.A}
}

// requireAlike requires that pictures look the same: colours, as vectors of values up to 255,
// differ by half a step on average, and by at most 20 where an edge is softened.
func requireAlike(t *testing.T, want, got image.Image) {
	t.Helper()
	require.Equal(t, want.Bounds(), got.Bounds())
	total, worst, pixels := 0, 0, want.Bounds().Dx()*want.Bounds().Dy()
	for i := range pixels {
		a, b := at8(want.At(i%want.Bounds().Dx(), i/want.Bounds().Dx())), at8(got.At(i%want.Bounds().Dx(), i/want.Bounds().Dx()))
		d := int(math.Sqrt(float64(apart(a, b))))
		total, worst = total+d, max(worst, d)
	}
	require.LessOrEqual(t, float64(total)/float64(pixels), 0.5)
	require.LessOrEqual(t, worst, 20)
}

// TestReducedFiguresLookTheSame: figures of many lines, and of as many colours as a heatmap has
// cells, look the same after reduction.
func TestReducedFiguresLookTheSame(t *testing.T) {
	lines, heat := figure.Lines{Title: "lines"}, figure.Heatmap{Title: "heat"}
	for i := range 24 {
		s, row := figure.Series{Name: "series"}, make([]float64, 24)
		for j := range row {
			row[j] = float64(i*24 + j)
			s.X, s.Y = append(s.X, float64(j)), append(s.Y, float64((i+1)*j*j))
		}
		lines.Series, heat.Values = append(lines.Series, s), append(heat.Values, row)
	}
	for _, f := range []figure.Figure{lines, heat} {
		o, err := Figure(f)
		require.NoError(t, err)
		whole, err := draw1(f)
		require.NoError(t, err)
		requireAlike(t, whole, decoded(t, o))
	}
}

func TestReducedKeepsTheFrequentColours(t *testing.T) {
	few, many := image.NewRGBA(image.Rect(5, 5, 21, 21)), image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 256 {
		few.Set(5+i%16, 5+i/16, color.RGBA{uint8(i), uint8(255 - i), 7, 255})
	}
	for i := range 64 * 64 { // half of it white
		many.Set(i%64, i/64, color.White)
		if i%2 == 0 {
			many.Set(i%64, i/64, color.RGBA{uint8(i / 16), uint8(i % 16 * 4), 0, 255})
		}
	}
	got := reduced(few)
	for i := range 256 {
		require.Equal(t, color.RGBA{uint8(i), uint8(255 - i), 7, 255}, got.At(i%16, i/16))
	}
	got = reduced(many)
	require.Len(t, got.Palette, 256)
	require.Equal(t, color.RGBA{255, 255, 255, 255}, got.At(1, 0))
}

// TestFigureIsThePictureOfItsPackage: a figure is shown as its package draws it, with half as many
// page pixels.
func TestFigureIsThePictureOfItsPackage(t *testing.T) {
	o, err := Figure(bars("of two"))
	require.NoError(t, err)
	want, err := figure.PNG(bars("of two"))
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(want))
	require.NoError(t, err)
	requireAlike(t, picture, decoded(t, o))
	require.Less(t, len(o.Render().Data[mimePNG].([]byte)), len(want)*2/3, "a palette makes it smaller")
	require.Equal(t, map[string]any{"width": picture.Bounds().Dx() / 2}, o.Render().Metadata[mimePNG])
	require.Equal(t, "of two", o.Render().Data["text/plain"])
	require.Equal(t, "of two", o.String())
}

func TestFiguresStandSideBySide(t *testing.T) {
	one, err := Figure(bars("1"))
	require.NoError(t, err)
	size := decoded(t, one).Bounds().Size()
	three, err := Figures(2, bars("1"), bars("2"), bars("3"))
	require.NoError(t, err)
	require.Equal(t, image.Pt(2*size.X, 2*size.Y), decoded(t, three).Bounds().Size())
	require.Equal(t, "1\n2\n3", three.Render().Data["text/plain"])
	row, err := Figures(9, bars("1"), bars("2"))
	require.NoError(t, err)
	require.Equal(t, image.Pt(2*size.X, size.Y), decoded(t, row).Bounds().Size())
}

func TestArrangePutsEachPictureInItsPlace(t *testing.T) {
	plain := func(w, h int, c color.Gray) image.Image {
		p := image.NewGray(image.Rect(3, 4, 3+w, 4+h)) // that does not begin at 0
		for i := range p.Pix {
			p.Pix[i] = c.Y
		}
		return p
	}
	page := arrange(2, []image.Image{plain(2, 3, color.Gray{10}), plain(4, 1, color.Gray{20}), plain(5, 2, color.Gray{30})})
	require.Equal(t, image.Pt(9, 5), page.Bounds().Size())
	for at, want := range map[image.Point]uint8{{0, 0}: 10, {1, 2}: 10, {2, 0}: 255, {5, 0}: 20, {8, 0}: 20, {5, 1}: 255, {0, 3}: 30, {4, 4}: 30, {5, 3}: 255} {
		require.Equal(t, color.Gray{want}, color.GrayModel.Convert(page.At(at.X, at.Y)), "%v", at)
	}
}

func TestSVGIsThePictureOfItsPackage(t *testing.T) {
	o, err := SVG(bars("of two"))
	require.NoError(t, err)
	want, err := figure.SVG(bars("of two"))
	require.NoError(t, err)
	require.Equal(t, string(want), o.Render().Data[mimeSVG])
}

func TestTableIsWellFormed(t *testing.T) {
	table := figure.Table{Title: "a < b", Header: []string{"name", "value"}, Rows: [][]string{{"<x>", "1.5"}, {"&", "2"}}, Align: "lr"}
	o, err := Figure(table)
	require.NoError(t, err)
	require.Equal(t, Table(table), o)
	require.Equal(t, table.Text(), o.Render().Data["text/plain"])
	html := o.Render().Data["text/html"].(string)
	var cells []string
	for d := xml.NewDecoder(strings.NewReader(html)); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
			cells = append(cells, string(text))
		}
	}
	require.Equal(t, []string{"a < b", "name", "value", "<x>", "1.5", "&", "2"}, cells)
	require.Contains(t, html, `<td style="text-align: right">1.5</td>`)
}

func TestBadFiguresAreErrors(t *testing.T) {
	for name, call := range map[string]func() (Output, error){
		"no figure":            func() (Output, error) { return Figures(2) },
		"no column":            func() (Output, error) { return Figures(0, bars("")) },
		"nil":                  func() (Output, error) { return Figure(nil) },
		"nil svg":              func() (Output, error) { return SVG(nil) },
		"table among pictures": func() (Output, error) { return Figures(2, bars(""), figure.Table{}) },
	} {
		_, err := call()
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), "\n", name)
	}
}

func TestCheck(t *testing.T) {
	require.NotPanics(t, func() { Check(nil) })
	require.PanicsWithValue(t, io.EOF, func() { Check(io.EOF) })
}
