package figure

import (
	"fmt"
	"image/color"
	"math"
)

// Sizes of bar charts, in px.
const (
	barsWidth  = 460.0
	barsHeight = 900.0 // the most
	barPitch   = 19.0  // from bar to bar, the most
	groupPitch = 15.0  // the same in a group
	groupGap   = 10.0  // from group to group
	numberGap  = 4.0   // from a bar's end to its number
)

// series are the bars' series, a single one without a name.
func (b Bars) series() []BarSeries {
	if len(b.Series) > 0 {
		return b.Series
	}
	return []BarSeries{{Values: b.Values}}
}

// barRows is how the labels' rows are laid out, a bar a series in each.
type barRows struct {
	series []BarSeries // pooled, if there are more rows than fit
	step   float64     // from row to row
	pitch  float64     // from bar to bar in a row
	thick  float64     // of a bar
}

func (b Bars) rows() barRows {
	r := barRows{series: b.series(), step: barPitch}
	n := float64(len(r.series))
	if n > 1 {
		r.step = n*groupPitch + groupGap
	}
	gap := (r.step - n*groupPitch) / r.step // share of a row
	if r.step = min(r.step, barsHeight/float64(len(b.Labels))); r.step < n {
		pooledSeries := make([]BarSeries, len(r.series))
		for i, s := range r.series {
			pooledSeries[i] = BarSeries{s.Name, pooled(s.Values, int(barsHeight/n))}
		}
		r.series, r.step = pooledSeries, n
	}
	if r.step <= 3*n {
		gap = 0
	}
	r.pitch = (1 - gap) * r.step / n
	r.thick = r.pitch
	return r
}

func (r barRows) height() float64 { return r.step * float64(len(r.series[0].Values)) }

func (b Bars) layout(t typesetter) picture {
	rows, scale, legend := b.rows(), b.scale(), b.legend(t)
	height := rows.height()
	left := axis{labels: namesOf(b.Labels, len(b.Labels)), step: height / float64(len(b.Labels))}
	left.every = every(left.step, labelPitch)
	left.cut(t, 1.3*labelMost)
	left.room = left.longest(t)
	numbered := max(rows.pitch, left.step/float64(len(rows.series))) >= labelPitch
	if numbered {
		scale = b.withNumbers(t, scale)
	}
	x := math.Ceil(left.room + tickGap + tickLength)
	foot := tickSize + tickGap + tickLength
	if b.YLabel != "" {
		foot += labelMargin
	}
	return picture{x + barsWidth + 12 + legend.width, max(height+foot, legend.height), func(p painter) {
		body := p.moved(x, 0)
		scale.paintBelow(body, height)
		for s, series := range rows.series {
			for i, v := range series.Values {
				middle := (float64(i)+0.5)*rows.step + (float64(s)-float64(len(rows.series)-1)/2)*rows.pitch
				scale.paintBar(body, v, middle, rows.thick, b.color(s, v))
				reach := b.errorOf(rows, i)
				scale.paintError(body, v, reach, middle)
				if numbered {
					scale.paintNumber(body, v+math.Copysign(reach, v), middle, b.number(v))
				}
			}
		}
		zero := scale.at(0)
		body.line([][2]float64{{zero, 0}, {zero, height}}, grey, 1)
		left.paintRows(body)
		body.axisLabels(b.YLabel, "", barsWidth, height, foot-labelMargin, x)
		legend.paint(body.moved(barsWidth+12, 0))
	}}
}

// errorOf is the half-length of a bar's error bar, 0 for none: where bars are pooled there are none.
func (b Bars) errorOf(rows barRows, i int) float64 {
	if len(b.Errors) != len(rows.series[0].Values) || !finite(b.Errors[i]) {
		return 0
	}
	return math.Abs(b.Errors[i])
}

// each calls f with every value that has a bar, and the half-length of its error bar.
func (b Bars) each(f func(v, reach float64)) {
	rows := barRows{series: b.series()}
	for _, s := range rows.series {
		for i, v := range s.Values {
			if finite(v) {
				f(v, b.errorOf(rows, i))
			}
		}
	}
}

// legend lays out the series' names; a single series has none.
func (b Bars) legend(t typesetter) picture {
	var names []string
	for _, s := range b.Series {
		names = append(names, s.Name)
	}
	return t.legend(names, func(p painter, i int, y float64) {
		p.fill(legendKey/2, y-5, legendKey/2, 10, Color(i))
	})
}

// color is that of a series' bar of v.
func (b Bars) color(series int, v float64) color.NRGBA {
	if len(b.Series) > 0 {
		return Color(series)
	}
	return Signed(v)
}

// number is what stands at the end of a bar.
func (b Bars) number(v float64) string {
	if b.Format != "" {
		return fmt.Sprintf(b.Format, v)
	}
	return number(v)
}

// scale is the axis of the bars' lengths: 0 is in it, and room for the numbers at their ends.
func (b Bars) scale() scale {
	low, high := 0.0, 0.0
	b.each(func(v, reach float64) { low, high = min(low, v-reach), max(high, v+reach) })
	if low == high {
		high = 1
	}
	const room = 0.12
	span := high/2 - low/2
	if low < 0 {
		low = max(low-2*room*span, -math.MaxFloat64)
	}
	if high > 0 {
		high = min(high+2*room*span, math.MaxFloat64)
	}
	return scale{low: low, high: high, length: barsWidth}
}

// withNumbers is a scale as much longer as the numbers at the bars' ends would stick out.
func (b Bars) withNumbers(t typesetter, s scale) scale {
	const tries = 3 // each shortens the bars
	for range tries {
		left, right := 0.0, 0.0
		b.each(func(v, reach float64) {
			width := numberGap + t.width(b.number(v), noteSize, false)
			switch end := s.at(v + math.Copysign(reach, v)); {
			case !finite(end):
			case v < 0:
				left = max(left, width-end)
			default:
				right = max(right, end+width-s.length)
			}
		})
		if left == 0 && right == 0 {
			break
		}
		span := s.high/s.length - s.low/s.length
		s.low, s.high = max(s.low-left*span, -math.MaxFloat64), min(s.high+right*span, math.MaxFloat64)
	}
	return s
}

// paintBar draws the bar of v around a height.
func (s scale) paintBar(p painter, v, y, thick float64, c color.Color) {
	if finite(v) {
		zero, end := s.at(0), s.at(v)
		p.fill(min(zero, end), y-thick/2, max(0.5, math.Abs(end-zero)), thick, c)
	}
}

// paintError draws the error bar of v.
func (s scale) paintError(p painter, v, reach, y float64) {
	if !finite(v) || reach == 0 {
		return
	}
	const end = 3 // half of the strokes at its ends
	low, high := s.at(v-reach), s.at(v+reach)
	for _, l := range [][2][2]float64{{{low, y}, {high, y}}, {{low, y - end}, {low, y + end}}, {{high, y - end}, {high, y + end}}} {
		p.line([][2]float64{l[0], l[1]}, black, 1)
	}
}

// paintNumber writes a text at the end of the bar of v.
func (s scale) paintNumber(p painter, v, y float64, text string) {
	if !finite(v) {
		return
	}
	style, at := textStyle{size: noteSize, color: grey}, s.at(v)+numberGap
	if v < 0 {
		style.align, at = 1, s.at(v)-numberGap
	}
	p.text(at, y, text, style)
}
