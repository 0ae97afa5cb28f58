package figure

import (
	"image/color"
	"math"
)

// Sizes of line charts, in px.
const (
	linesWidth  = 560.0
	linesHeight = 360.0
	panelWidth  = 420.0 // of one of several
	panelHeight = 320.0
	pointsMost  = 2000 // of a line; more are thinned
	pointsTotal = 80000
	rawMost     = 800 // of a line before it was smoothed
	marksMost   = 60  // on a line
	markRadius  = 2.7
)

func (l Lines) layout(t typesetter) picture {
	whole := l
	whole.Title = "" // the frame has it
	return Panels{Charts: []Lines{whole}}.layout(t)
}

// Drawable says whether a point has a place: a picture without one is empty.
func (l Lines) Drawable() bool {
	for _, s := range l.Series {
		if len(s.points(scale{log: l.LogX, high: 1}, scale{log: l.LogY, high: 1})) > 0 {
			return true
		}
	}
	return false
}

// scales are the axes, over all points and error bars that have a place on both.
func (l Lines) scales() (x, y scale) {
	x, y = scale{log: l.LogX, numbers: l.XTicks}, scale{log: l.LogY}
	x.low, x.high, y.low, y.high = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range l.Series {
		for i := range s.X {
			if !x.holds(s.X[i]) || !y.holds(s.Y[i]) {
				continue
			}
			x.low, x.high = min(x.low, s.X[i]), max(x.high, s.X[i])
			e := s.half(i)
			for _, v := range []float64{s.Y[i], s.Y[i] - e, s.Y[i] + e} {
				if y.holds(v) {
					y.low, y.high = min(y.low, v), max(y.high, v)
				}
			}
		}
		for _, v := range s.typicalRange(y) {
			y.low, y.high = min(y.low, v), max(y.high, v)
		}
	}
	if x.low > x.high { // nothing to show
		x.low, x.high, y.low, y.high = 1, 10, 1, 10
	}
	return x.widened(), y.widened()
}

// half is the half-length of point i's error bar, 0 if there is none.
func (s Series) half(i int) float64 {
	if s.Error == nil || !finite(s.Error[i]) {
		return 0
	}
	return math.Abs(s.Error[i])
}

// linestyle is how a series is drawn.
type linestyle struct {
	color  color.NRGBA
	dashes []float64
}

// styleOf is the style of series i: colours, then the same dashed, then dotted.
func styleOf(i int) linestyle {
	return linestyle{Color(i), [][]float64{nil, {7, 3}, {2, 3}, {9, 3, 2, 3}}[i/seriesColors%4]}
}

// style is that of series i of a chart.
func (l Lines) style(i int) linestyle {
	if like := l.Series[i].Like; like > 0 && like <= len(l.Series) {
		return styleOf(like - 1)
	}
	return styleOf(i)
}

// paint draws the series into a body of the two scales' sizes, thinned to at most most points.
func (s Series) paint(p painter, x, y scale, style linestyle, most int) {
	s.paintErrors(p, x, y, style, most)
	if s.Points {
		s.paintMarks(p, x, y, style, most)
		return
	}
	for _, segment := range s.segments(x, y) {
		if len(segment) > 1 {
			p.line(extremes(segment, most), style.color, 1.8, style.dashes...)
		} else if !s.Marks {
			p.dot(segment[0][0], segment[0][1], markRadius, style.color)
		}
	}
	if s.Marks {
		s.paintMarks(p, x, y, style, marksMost)
	}
}

// paintMarks draws a mark at each point, or at evenly spaced ones if there are more than most.
func (s Series) paintMarks(p painter, x, y scale, style linestyle, most int) {
	points := s.points(x, y)
	for i := 0; i < len(points); i += (len(points) + most - 1) / most {
		p.dot(points[i][0], points[i][1], markRadius, style.color)
	}
}

// points are the places of those points that have one.
func (s Series) points(x, y scale) [][2]float64 {
	var points [][2]float64
	for _, segment := range s.segments(x, y) {
		points = append(points, segment...)
	}
	return points
}

// segments are the line's pieces between points that have no place.
func (s Series) segments(x, y scale) [][][2]float64 {
	var segments [][][2]float64
	broken := true
	for i := range s.X {
		if !x.holds(s.X[i]) || !y.holds(s.Y[i]) {
			broken = true
			continue
		}
		if broken {
			segments, broken = append(segments, nil), false
		}
		last := len(segments) - 1
		segments[last] = append(segments[last], [2]float64{x.at(s.X[i]), y.length - y.at(s.Y[i])})
	}
	return segments
}

// paintErrors draws the error bars; one that reaches 0 on a logarithmic axis goes down to its end.
func (s Series) paintErrors(p painter, x, y scale, style linestyle, most int) {
	if s.Error == nil {
		return
	}
	weak := fade(style.color)
	for i := 0; i < len(s.X); i += (len(s.X) + most - 1) / most {
		e := s.half(i)
		if e == 0 || !x.holds(s.X[i]) || !y.holds(s.Y[i]) {
			continue
		}
		at := x.at(s.X[i])
		top, bottom := y.length-y.at(min(s.Y[i]+e, y.high)), y.length
		if v := s.Y[i] - e; y.holds(v) {
			bottom = y.length - y.at(max(v, y.low))
		}
		p.line([][2]float64{{at, top}, {at, bottom}}, weak, 1.2)
		p.line([][2]float64{{at - 3, top}, {at + 3, top}}, weak, 1.2)
		p.line([][2]float64{{at - 3, bottom}, {at + 3, bottom}}, weak, 1.2)
	}
}

// legend lays out the series' names; a single one without a name needs none.
func (l Lines) legend(t typesetter) picture {
	if len(l.Series) == 1 && l.Series[0].Name == "" {
		return t.legend(nil, nil)
	}
	var names []string
	for _, s := range l.Series {
		names = append(names, s.Name)
	}
	return t.legend(names, func(p painter, i int, y float64) { l.Series[i].paintKey(p, y, l.style(i)) })
}

// paintKey draws what stands before a line's name in the legend.
func (s Series) paintKey(p painter, y float64, style linestyle) {
	if s.Points {
		p.dot(legendKey/2, y, markRadius, style.color)
		return
	}
	ends := [][2]float64{{0, y}, {legendKey, y}}
	if s.Raw != nil {
		p.line(ends, pale(style.color), 7)
	}
	p.line(ends, style.color, 1.8, style.dashes...)
	if s.Marks {
		p.dot(legendKey/2, y, markRadius, style.color)
	}
}
