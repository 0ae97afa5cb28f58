package figure

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of line charts, in px.
const (
	linesWidth  = 560.0
	linesHeight = 360.0
	panelWidth  = 420.0 // width of one of several panels
	panelHeight = 320.0
	pointsMost  = 2000 // largest number of points of a line; more are thinned
	pointsTotal = 80000
	rawMost     = 800 // the same for the values before smoothing
	marksMost   = 60  // largest number of marks on a line
	lineWidth   = 1.8
)

func (l Lines) layout(t typesetter) picture {
	whole := l
	whole.Title = "" // the frame shows the title
	return Panels{Charts: []Lines{whole}}.layout(t)
}

// Drawable tells whether any point can be drawn; otherwise the picture is empty.
func (l Lines) Drawable() bool {
	for _, s := range l.Series {
		if len(s.segments(s.Y, scale{log: l.LogX}, scale{log: l.LogY})) > 0 {
			return true
		}
	}
	return false
}

// scales returns the axes that span all points and error bars which can be drawn on both.
func (l Lines) scales() (x, y scale) {
	x, y = newScale(l.LogX, l.XTicks), newScale(l.LogY, nil)
	for _, s := range l.Series {
		for i := range s.X {
			if x.holds(s.X[i]) && y.holds(s.Y[i]) {
				e := s.half(i)
				x.add(s.X[i])
				y.add(s.Y[i])
				y.add(s.Y[i] - e)
				y.add(s.Y[i] + e)
			}
		}
		for _, v := range s.typicalRange(y) {
			y.add(v)
		}
	}
	if x.low > x.high { // there is nothing to show
		x.low, x.high, y.low, y.high = 1, 10, 1, 10
	}
	return x.widened(), y.widened()
}

// half returns the half-length of point i's error bar, 0 if there is none.
func (s Series) half(i int) float64 {
	if s.Error == nil || !finite(s.Error[i]) {
		return 0
	}
	return math.Abs(s.Error[i])
}

// own returns the number of the colour of series i.
func (l Lines) own(i int) int {
	if like := l.Series[i].Like; like > 0 && like <= len(l.Series) {
		return like - 1
	}
	return i
}

// styleOf returns the style of line i: the colours in turn, then the same dashed, then dotted.
func styleOf(i int) draw.LineStyle {
	return stroke(Color(i), lineWidth, [][]vg.Length{nil, {7 * px, 3 * px}, {2 * px, 3 * px}, {9 * px, 3 * px, 2 * px, 3 * px}}[i/seriesColors%4]...)
}

// markOf returns the style of marks of series i.
func markOf(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: Color(i), Radius: 2.7 * px, Shape: draw.CircleGlyph{}}
}

// add adds the series to a chart with these scales, each thinned to at most most points. Values
// before smoothing are drawn first, below the lines.
func (l Lines) add(c chart, x, y scale, most int) {
	for i, s := range l.Series {
		for _, segment := range s.segments(s.Raw, x, y) {
			c.put(&plotter.Line{XYs: extremes(segment, min(most, rawMost)), LineStyle: stroke(pale(Color(l.own(i))), 1)})
		}
	}
	for i, s := range l.Series {
		k := l.own(i)
		c.put(s.errorBars(x, y, fade(Color(k)), most))
		var marks plotter.XYs
		for _, segment := range s.segments(s.Y, x, y) {
			if len(segment) > 1 && !s.Points {
				c.put(&plotter.Line{XYs: extremes(segment, most), LineStyle: styleOf(k)})
			}
			if s.Points || s.Marks || len(segment) == 1 {
				marks = append(marks, segment...)
			}
		}
		shown := marksMost
		if s.Points {
			shown = most
		}
		c.put(&plotter.Scatter{XYs: spread(marks, shown), GlyphStyle: markOf(k)})
	}
}

// segments splits a line through values of the series at the points that cannot be drawn.
func (s Series) segments(values []float64, x, y scale) []plotter.XYs {
	var segments []plotter.XYs
	broken := true
	for i, v := range values {
		if !x.holds(s.X[i]) || !y.holds(v) {
			broken = true
			continue
		}
		if broken {
			segments, broken = append(segments, nil), false
		}
		last := &segments[len(segments)-1]
		*last = append(*last, plotter.XY{X: s.X[i], Y: v})
	}
	return segments
}

// errorBars returns the error bars of the series, clipped to the axis.
func (s Series) errorBars(x, y scale, c color.Color, most int) *plotter.YErrorBars {
	bars := &plotter.YErrorBars{LineStyle: stroke(c, 1.2), CapWidth: 6 * px}
	for i := 0; i < len(s.Error); i += (len(s.Error) + most - 1) / most {
		if e, at := s.half(i), (plotter.XY{X: s.X[i], Y: s.Y[i]}); e > 0 && x.holds(at.X) && y.holds(at.Y) {
			bars.XYs = append(bars.XYs, at)
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{min(e, at.Y-y.low), min(e, y.high-at.Y)})
		}
	}
	return bars
}

// legend lays out the names of the series; a single series without a name needs no legend.
func (l Lines) legend(t typesetter) picture {
	if len(l.Series) == 1 && l.Series[0].Name == "" {
		return picture{}
	}
	var names []string
	var keys [][]plot.Thumbnailer
	for i, s := range l.Series {
		k, key := l.own(i), []plot.Thumbnailer(nil)
		if s.Raw != nil {
			key = append(key, &plotter.Line{LineStyle: stroke(pale(Color(k)), 7)})
		}
		if !s.Points {
			key = append(key, &plotter.Line{LineStyle: styleOf(k)})
		}
		if s.Points || s.Marks {
			key = append(key, &plotter.Scatter{GlyphStyle: markOf(k)})
		}
		names, keys = append(names, s.Name), append(keys, key)
	}
	return t.legend(names, keys)
}
