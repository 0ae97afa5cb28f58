package figure

import "math"

// Sizes of bar charts, in px.
const (
	barsWidth  = 460.0
	barsHeight = 900.0 // the most
	barPitch   = 19.0  // from bar to bar, the most
)

func (b Bars) layout(l lettering) picture {
	labels, values := namesOf(b.Labels, len(b.Labels)), b.Values
	step := min(barPitch, barsHeight/float64(len(values)))
	if step < 1 {
		step, values = 1, pooled(values, barsHeight)
	}
	height := step * float64(len(values))
	pitch := barsHeight / float64(len(labels)) // of labels
	left := axis{labels: labels, step: min(barPitch, pitch)}
	left.every = every(left.step, labelPitch)
	left.cut(l, 1.3*labelMost)
	for i := 0; i < len(labels); i += left.every {
		left.room = max(left.room, l.width(labels[i], tickSize, false))
	}
	x := math.Ceil(left.room + tickGap + tickLength)
	scale := b.scale()
	foot := tickSize + tickGap + tickLength
	if b.YLabel != "" {
		foot += labelMargin
	}
	return picture{x + barsWidth + 12, height + foot, func(p pen) {
		body := p.moved(x, 0)
		scale.paintBelow(body, height)
		for i, v := range values {
			scale.paintBar(body, v, float64(i)*step, step)
		}
		zero := scale.at(0)
		body.line([][2]float64{{zero, 0}, {zero, height}}, grey, 1)
		left.paintRows(body)
		body.axisLabels(b.YLabel, "", barsWidth, height, foot-labelMargin, x)
	}}
}

// scale is the axis of the bars' lengths: 0 is in it, and room for numbers behind bars.
func (b Bars) scale() scale {
	low, high := 0.0, 0.0
	for _, v := range b.Values {
		if finite(v) {
			low, high = min(low, v), max(high, v)
		}
	}
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

// paintBar draws the bar of v from y down, its number behind it where rows are high enough.
func (s scale) paintBar(p pen, v, y, step float64) {
	if !finite(v) {
		return
	}
	zero, end := s.at(0), s.at(v)
	thick := step
	if step > 3 {
		thick = 0.76 * step
	}
	p.fill(min(zero, end), y+(step-thick)/2, max(0.5, math.Abs(end-zero)), thick, Signed(v))
	if step < labelPitch {
		return
	}
	how, at := lead{size: noteSize, color: grey}, end+4
	if v < 0 {
		how.align, at = 1, end-4
	}
	p.text(at, y+step/2, number(v), how)
}
