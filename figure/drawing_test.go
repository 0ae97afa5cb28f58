package figure

import (
	"bytes"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// pixels draws a figure as PNG.
func pixels(t *testing.T, f Figure) image.Image {
	t.Helper()
	file, err := PNG(f)
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(file))
	require.NoError(t, err)
	return picture
}

func nrgba(c color.Color) color.NRGBA { return color.NRGBAModel.Convert(c).(color.NRGBA) }

// runsOf returns the colours down a column of a picture's pixels, with equal neighbours merged into
// one run, and the runs' lengths.
func runsOf(picture image.Image, x, from, to int) (colors []color.NRGBA, lengths []int) {
	for y := from; y < to; y++ {
		c := nrgba(picture.At(x, y))
		if n := len(colors); n > 0 && colors[n-1] == c {
			lengths[n-1]++
			continue
		}
		colors, lengths = append(colors, c), append(lengths, 1)
	}
	return colors, lengths
}

// cornerOf returns the first pixel of a heatmap's body: the corner of its frame, from which lines
// of the frame's colour go right and down.
func cornerOf(t *testing.T, picture image.Image) image.Point {
	for y := range picture.Bounds().Max.Y - 8 {
		for x := range picture.Bounds().Max.X - 8 {
			if nrgba(picture.At(x, y)) == outline && nrgba(picture.At(x+8, y)) == outline && nrgba(picture.At(x, y+8)) == outline {
				return image.Pt(x+1, y+1)
			}
		}
	}
	require.Fail(t, "want a frame")
	return image.Point{}
}

// TestHeatmapColours: every cell has its value's colour up to its edges, and no value is blank.
func TestHeatmapColours(t *testing.T) {
	values := []float64{-2, math.NaN(), 1, 0, 2}
	h := Heatmap{Diverging: true, Rows: []string{"", "", "", "", ""}, Columns: []string{""}}
	for _, v := range values {
		h.Values = append(h.Values, []float64{v})
	}
	picture := pixels(t, h)
	corner := cornerOf(t, picture)
	colors, lengths := runsOf(picture, corner.X+int(density*cellMost/2), corner.Y+2, corner.Y+int(density*5*cellMost)-2)
	require.Len(t, colors, len(values))
	for i, v := range values {
		want := color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}
		if finite(v) {
			want = Diverging().At((v + 2) / 4)
		}
		assert.InDelta(t, float64(want.R), float64(colors[i].R), 3, i)
		assert.InDelta(t, float64(want.G), float64(colors[i].G), 3, i)
		assert.InDelta(t, float64(want.B), float64(colors[i].B), 3, i)
		if i > 0 && i < len(values)-1 {
			assert.Equal(t, density*int(cellMost), lengths[i])
		}
	}
}

// TestHeatmapLimits: a heatmap with limits colours values by the limits alone; values outside get
// the colours of the ends.
func TestHeatmapLimits(t *testing.T) {
	h := Heatmap{Values: [][]float64{{0.25}, {0.5}, {3}}, Rows: []string{"", "", ""}, Columns: []string{""}, Limits: []float64{0, 1}}
	picture := pixels(t, h)
	corner := cornerOf(t, picture)
	colors, _ := runsOf(picture, corner.X+int(density*cellMost/2), corner.Y+2, corner.Y+int(density*3*cellMost)-2)
	require.Len(t, colors, 3)
	for i, at := range []float64{0.25, 0.5, 1} {
		want := Sequential().At(at)
		assert.InDelta(t, float64(want.R), float64(colors[i].R), 3, i)
		assert.InDelta(t, float64(want.G), float64(colors[i].G), 3, i)
	}
}

// TestBarErrors: an error bar extends by its value to both sides of its bar's end.
func TestBarErrors(t *testing.T) {
	b := Bars{Labels: []string{"", ""}, Values: []float64{1, 0.5}, Errors: []float64{1, 0}}
	s := b.scale()
	assert.Greater(t, s.high, 2.0)
	without := b
	without.Errors = nil
	assert.Less(t, without.scale().high, 1.5)
	picture := pixels(t, b)
	longest := 0
	for y := range picture.Bounds().Max.Y {
		for x, run := 0, 0; x < picture.Bounds().Max.X; x++ {
			if run++; nrgba(picture.At(x, y)) != black {
				run = 0
			}
			longest = max(longest, run)
		}
	}
	assert.InDelta(t, density*barsWidth*2/(s.high-s.low), float64(longest), 4)
}

// TestHeatmapCells: each cell's text is written in it, dark on pale colours and light on dark ones;
// texts that could not be read are left out.
func TestHeatmapCells(t *testing.T) {
	svg, err := SVG(Heatmap{Values: [][]float64{{0, 1}}, Rows: []string{""}, Columns: []string{"", ""}, Cells: [][]string{{"pale", "dark"}}, Limits: []float64{0, 1}})
	require.NoError(t, err)
	for text, fill := range map[string]string{"pale": "#1A1A1A", "dark": "#FFFFFF"} {
		assert.Regexp(t, `fill:`+fill+`[^>]*>`+text+`</text>`, string(svg))
	}
	svg, err = SVG(worded(2, 500))
	require.NoError(t, err)
	assert.NotContains(t, string(svg), ">a</text>")
}

// TestScalesAreEven: lightness goes in one direction (in each half of Diverging, and both halves
// match); in Diverging blue is below and red above.
func TestScalesAreEven(t *testing.T) {
	lightness := func(c color.NRGBA) float64 { // relative luminance, WCAG 2.1
		linear := func(v uint8) float64 {
			if s := float64(v) / 255; s > 0.04045 {
				return math.Pow((s+0.055)/1.055, 2.4)
			}
			return float64(v) / 255 / 12.92
		}
		return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
	}
	for i := range 100 {
		t0, t1 := float64(i)/100, float64(i+1)/100
		assert.Greater(t, lightness(Sequential().At(t0)), lightness(Sequential().At(t1)))
		assert.Greater(t, lightness(Intensity().At(t0)), lightness(Intensity().At(t1)))
		assert.Greater(t, lightness(Diverging().At(0.5+t0/2)), lightness(Diverging().At(0.5+t1/2)))
		assert.InDelta(t, lightness(Diverging().At(0.5+t0/2)), lightness(Diverging().At(0.5-t0/2)), 0.05)
	}
	low, high := Signed(-1), Signed(1)
	assert.Greater(t, low.B, low.R)
	assert.Greater(t, high.R, high.B)
	assert.Equal(t, Diverging().At(0), Diverging().At(-3))
}

// TestPooledCells: where cells share a pixel, the strongest one is seen.
func TestPooledCells(t *testing.T) {
	values := make([][]float64, 3000)
	for i := range values {
		values[i] = []float64{0.1}
	}
	values[1234][0] = -5
	c := colouringOf(values, true)
	image := c.image(values, 1, 100)
	dark := nrgba(image.At(0, 1234*100/3000))
	assert.Equal(t, Diverging().At(0), dark)
	assert.NotEqual(t, dark, nrgba(image.At(0, 40)))
	assert.Equal(t, []float64{-5, 0.1}, pooled([]float64{1, -5, math.NaN(), 0.1}, 2))
}

// TestThinnedLine: thinning keeps the first and last points and the extremes.
func TestThinnedLine(t *testing.T) {
	points := make(plotter.XYs, 100_000)
	for i := range points {
		points[i] = plotter.XY{X: float64(i), Y: math.Sin(float64(i))}
	}
	points[777].Y, points[99_000].Y = 50, -50
	thin := extremes(points, 500)
	assert.LessOrEqual(t, len(thin), 500)
	assert.Equal(t, points[0], thin[0])
	assert.Equal(t, points[99_999], thin[len(thin)-1])
	assert.Contains(t, thin, points[777])
	assert.Contains(t, thin, points[99_000])
	for i := range thin[1:] {
		assert.Less(t, thin[i].X, thin[i+1].X)
	}
}

// TestTicks: the numbers are round, have different labels, and lie on the axis.
func TestTicks(t *testing.T) {
	labels := func(ticks []plot.Tick) string {
		var all []string
		for _, t := range ticks {
			all = append(all, t.Label)
		}
		return strings.Join(all, " ")
	}
	assert.Equal(t, "0.0 0.2 0.4 0.6 0.8 1.0", labels(ticks(0, 1, 5)))
	assert.Equal(t, "-2 0 2", labels(ticks(-3, 3, 3)))
	assert.Equal(t, "0 500 1000", labels(ticks(0, 1000, 2)))
	assert.Equal(t, "10.002 10.004 10.006", labels(ticks(10.001, 10.007, 3)))
	assert.Equal(t, "0 5e+06 1e+07", labels(ticks(0, 1e7, 2)))
	assert.Equal(t, "7", labels(ticks(7, 7, 3)))
	assert.Equal(t, "1 10 100", labels(logTicks(0.5, 200, 7)))
	assert.Equal(t, "1 3 10", labels(logTicks(0.9, 11, 7)))
	for _, span := range [][2]float64{{-mostDrawn, mostDrawn}, {1e-310, 2e-310}, {1e15, 1e15 + 2}, {-1e-300, mostDrawn}} {
		for _, at := range ticks(span[0], span[1], 5) {
			assert.True(t, finite(at.Value))
		}
	}
}

// lengthsOf returns the widths, in SVG units, of the rectangles with a colour.
func lengthsOf(svg string, c color.NRGBA) []float64 {
	hex := "#" + strings.ToUpper(strconv.FormatInt(int64(c.R)<<16|int64(c.G)<<8|int64(c.B), 16))
	var widths []float64
	shape := regexp.MustCompile(`d="M([-\d.]+),[-\d.]+L([-\d.]+),[^"]*"\s+style="fill:` + hex)
	for _, m := range shape.FindAllStringSubmatch(svg, -1) {
		left, _ := strconv.ParseFloat(m[1], 64)
		right, _ := strconv.ParseFloat(m[2], 64)
		widths = append(widths, right-left)
	}
	return widths
}

// TestBarLengths: bars are as long as their values, in the colour of their sign.
func TestBarLengths(t *testing.T) {
	svg, err := SVG(Bars{Labels: []string{"a", "b", "c", "d"}, Values: []float64{4, -1, 2, math.NaN()}})
	require.NoError(t, err)
	red, blue := lengthsOf(string(svg), Signed(1)), lengthsOf(string(svg), Signed(-1))
	require.Len(t, red, 2)
	require.Len(t, blue, 1)
	assert.InDelta(t, 2, red[0]/red[1], 1e-3)
	assert.InDelta(t, 4, red[0]/blue[0], 1e-3)
}

// TestBarNumbersStandClearOfLabels: a long number next to a short bar below 0 does not run into the
// labels.
func TestBarNumbersStandClearOfLabels(t *testing.T) {
	svg, err := SVG(Bars{Labels: []string{"label", "label"}, Values: []float64{1, -0.0005123}})
	require.NoError(t, err)
	at := func(text string) float64 {
		m := regexp.MustCompile(`<text x="([\d.]+)"[^>]*>` + text + `<`).FindStringSubmatch(string(svg))
		require.NotNil(t, m, text)
		x, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		return x / float64(px)
	}
	assert.Greater(t, at("-0.0005123"), at("label")+newTypesetter(false).width("label", tickSize, false))
}

// TestBarsOfSeries: each label has a bar of every series' colour, the numbers are written as
// wanted, and the legend names all.
func TestBarsOfSeries(t *testing.T) {
	drawn, err := SVG(gallery()["bars_series"])
	require.NoError(t, err)
	svg := string(drawn)
	for i, want := range []int{3, 3, 2} {
		assert.Len(t, lengthsOf(svg, Color(i)), want+1, "bars and the legend's key")
	}
	ours, theirs := lengthsOf(svg, Color(0)), lengthsOf(svg, Color(1))
	assert.InDelta(t, 146.7/97.2, ours[0]/theirs[0], 1e-3)
	for _, text := range []string{">147<", ">97<", ">41<", ">-1<", ">rmt-46m<", ">Residua<", ">torch.compile<", ">PyTorch eager<", ">GFLOPS<"} {
		assert.Equal(t, 1, strings.Count(svg, text), text)
	}
}

// TestPanelsShareAxes: all charts have the same numbers and the axis labels of the first, and each
// its own title; one legend names all series; a chart without points stays empty.
func TestPanelsShareAxes(t *testing.T) {
	for across, want := range map[int]int{0: 3, 1: 1, 2: 2, 9: 3} {
		p := gallery()["panels"].(Panels)
		p.Across, p.Charts[2].Series[0].X, p.Charts[2].Series[0].Y = across, nil, nil
		drawn, err := SVG(p)
		require.NoError(t, err)
		svg := string(drawn)
		for _, text := range []string{">1<", ">2<", ">4<", ">10<", ">30<", ">width<", ">size<"} {
			times := 3
			if text == ">1<" {
				times = 6 // along both axes
			}
			assert.Equal(t, times, strings.Count(svg, text), text)
		}
		for _, text := range []string{">left<", ">right<", ">below<", ">one<", ">none<"} {
			assert.Equal(t, 1, strings.Count(svg, text), text)
		}
		columns := map[string]bool{}
		for _, m := range regexp.MustCompile(`<text x="([\d.]+)"[^>]*>4<`).FindAllStringSubmatch(svg, -1) {
			columns[m[1]] = true
		}
		assert.Len(t, columns, want, "across %d", across)
	}
}

// TestPanelsWithAxesOfTheirOwn: each chart has its own numbers and labels; a series with Like has
// the colour of that series.
func TestPanelsWithAxesOfTheirOwn(t *testing.T) {
	p := Panels{OwnAxes: true, Charts: []Lines{
		{XLabel: "steps", YLabel: "loss", Series: []Series{{Name: "a", X: []float64{1, 2}, Y: []float64{1, 2}}, {Name: "b", X: []float64{1, 2}, Y: []float64{2, 1}, Like: 1}}},
		{XLabel: "hours", YLabel: "score", Series: []Series{{X: []float64{1000, 2000}, Y: []float64{100, 200}}}},
	}}
	drawn, err := SVG(p)
	require.NoError(t, err)
	for _, text := range []string{">steps<", ">hours<", ">loss<", ">score<", ">2000<"} {
		assert.Equal(t, 1, strings.Count(string(drawn), text), text)
	}
	assert.Equal(t, p.Charts[0].own(0), p.Charts[0].own(1))
	p.OwnAxes = false
	drawn, err = SVG(p)
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(drawn), ">steps<"))
}

// TestSVGIsXML: every picture is well-formed, and refers to nothing outside it.
func TestSVGIsXML(t *testing.T) {
	for name, f := range gallery() {
		svg, err := SVG(f)
		require.NoError(t, err)
		assert.NotContains(t, regexp.MustCompile(`base64,[^"]*`).ReplaceAllString(string(svg), ""), "NaN", name)
		for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := decoder.Token()
			if err == io.EOF {
				break
			}
			require.NoError(t, err, name)
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "image" {
				for _, a := range start.Attr {
					if a.Name.Local == "href" {
						assert.True(t, strings.HasPrefix(a.Value, "data:image/png;base64,"), name)
					}
				}
			}
		}
	}
}

// requireMargin requires that a picture's outermost pixels are white, which shows that nothing is
// cut off.
func requireMargin(t *testing.T, picture image.Image) {
	t.Helper()
	white, box := color.NRGBA{R: 0xff, G: 0xff, B: 0xff, A: 0xff}, picture.Bounds()
	for x := box.Min.X; x < box.Max.X; x++ {
		require.Equal(t, white, nrgba(picture.At(x, 2)), "top, at %d", x)
		require.Equal(t, white, nrgba(picture.At(x, box.Max.Y-3)), "bottom, at %d", x)
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		require.Equal(t, white, nrgba(picture.At(2, y)), "left, at %d", y)
		require.Equal(t, white, nrgba(picture.At(box.Max.X-3, y)), "right, at %d", y)
	}
}

// TestExtremeValues: no value, name or size makes drawing fail.
func TestExtremeValues(t *testing.T) {
	huge := []float64{math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.NaN(), 0}
	long := strings.Repeat("long ", 5000)
	labels := []string{long, "\n\t", "", "\u202e", "é", "☃"}
	for _, f := range []Figure{
		Heatmap{Title: long, XLabel: long, YLabel: long, Rows: labels, Columns: labels, Values: [][]float64{huge, huge, huge, huge, huge, huge}},
		Heatmap{Values: [][]float64{huge}, Diverging: true},
		Lines{Title: long, XLabel: long, YLabel: long, Series: []Series{{Name: long, X: huge, Y: huge, Error: huge}, {}}},
		Lines{LogX: true, LogY: true, Series: []Series{{X: huge, Y: huge, Error: huge, Points: true}}},
		Lines{LogX: true, Series: []Series{{X: []float64{3}, Y: []float64{-1}}}},
		Bars{YLabel: long, Labels: labels, Values: huge},
		Attention{Tokens: labels, Heads: []string{long}, Patterns: []Matrix{{huge, huge, huge, huge, huge, huge}}},
		Wiring{Nodes: []WiringNode{{long, math.MaxInt}, {"", math.MinInt}}, Edges: []WiringEdge{{From: 0, To: 1, Weight: math.MaxFloat64}, {From: 1, To: 0, Weight: math.SmallestNonzeroFloat64}, {From: 1, To: 1, Weight: math.Inf(-1)}}},
	} {
		_, err := PNG(f)
		require.NoError(t, err)
		svg, err := SVG(f)
		require.NoError(t, err)
		assert.NotRegexp(t, `NaN|Inf|e\+\d\d\d`, regexp.MustCompile(`<text[^<]*</text>`).ReplaceAllString(string(svg), ""))
	}
}
