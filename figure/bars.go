package figure

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of bar charts, in px.
const (
	barsWidth  = 460.0
	barsHeight = 900.0 // largest height
	barPitch   = 19.0  // largest distance between bars
	groupPitch = 15.0  // the same within a group
	groupGap   = 10.0  // between groups
	numberGap  = 4.0   // between a bar's end and its number
)

// series returns the series; Bars without Series are one series without a name.
func (b Bars) series() []BarSeries {
	if len(b.Series) > 0 {
		return b.Series
	}
	return []BarSeries{{Values: b.Values}}
}

func (b Bars) layout(t typesetter) picture {
	labels, n := float64(len(b.Labels)), float64(len(b.series()))
	row := barPitch // distance between labels
	if n > 1 {
		row = n*groupPitch + groupGap
	}
	gap := 1 - n*groupPitch/row // share of the distance between labels that is left between groups
	if row = min(row, barsHeight/labels); row <= 3*n {
		gap = 0
	}
	c := t.chart("", barsWidth, row*labels)
	c.labels(b.YLabel, "")
	b.scale().onto(&c.X)
	c.names(&c.Y, b.Labels, len(b.Labels), 1.3*labelMost)
	c.fromTheTop()
	c.gridded(true, false)
	share := (1 - gap) / n // share of a row's height that a bar takes
	for i, s := range b.series() {
		b.add(c, i, s.Values, share, (float64(i)-(n-1)/2)*share)
	}
	c.put(drawing(func(body draw.Canvas, p *plot.Plot) {
		zero := body.X(p.X.Norm(0))
		body.StrokeLine2(stroke(grey, 1), zero, body.Min.Y, zero, body.Max.Y)
	}))
	return tiled([]chart{c}, 1, 0).beside(b.legend(t), 12)
}

// scale returns the axis of the bars' lengths, which includes 0.
func (b Bars) scale() scale {
	s := newScale(false, nil)
	s.add(0)
	for _, series := range b.series() {
		for i, v := range series.Values {
			s.add(v - b.errorOf(i))
			s.add(v + b.errorOf(i))
		}
	}
	gap := 0.03 * (s.high - s.low)
	switch {
	case gap == 0:
		s.high = 1
	case s.low < 0:
		s.low -= gap
	}
	if s.high > 0 {
		s.high += gap
	}
	return s
}

// errorOf returns the half-length of a bar's error bar, 0 if it has none.
func (b Bars) errorOf(i int) float64 {
	if i >= len(b.Errors) || !finite(b.Errors[i]) {
		return 0
	}
	return math.Abs(b.Errors[i])
}

// add adds the bars of a series with their error bars and, if there is room, numbers. thick is
// the bars' thickness, below their offset from their labels; both are shares of a row. If
// there are more bars than fit, only the longest ones are visible, without error bars.
func (b Bars) add(c chart, series int, values []float64, thick, below float64) {
	labels, n := float64(len(b.Labels)), float64(len(b.series()))
	if most := int(barsHeight / n); len(values) > most {
		values, b.Errors = pooled(values, most), nil
	}
	rows := labels / float64(len(values)) // rows that share a bar
	half := vg.Length(thick*rows*c.height/labels/2) * px
	errors := &plotter.XErrorBars{LineStyle: stroke(black, 1), CapWidth: 6 * px}
	var numbers [2]plotter.Labels // at bars to the left and to the right
	for i, v := range values {
		if !(scale{}).holds(v) {
			continue
		}
		at, e := plotter.XY{X: v, Y: (float64(i)+0.5+below)*rows - 0.5}, b.errorOf(i)
		c.put(drawing(func(body draw.Canvas, p *plot.Plot) {
			left, right, middle := body.X(p.X.Norm(min(0, v))), body.X(p.X.Norm(max(0, v))), body.Y(p.Y.Norm(at.Y))
			right = max(right, left+0.5*px)
			body.FillPolygon(b.color(series, v), []vg.Point{{X: left, Y: middle - half}, {X: right, Y: middle - half}, {X: right, Y: middle + half},
				{X: left, Y: middle + half}})
		}))
		if e > 0 {
			errors.XYs, errors.XErrors = append(errors.XYs, at), append(errors.XErrors, struct{ Low, High float64 }{e, e})
		}
		side, style := &numbers[1], c.typesetter.styled(c.X.Tick.Label, noteSize, false)
		if style.Color, style.XAlign, style.YAlign = grey, draw.XLeft, middle; v < 0 {
			side, style.XAlign = &numbers[0], draw.XRight
		}
		at.X += math.Copysign(e, v)
		side.XYs, side.Labels, side.TextStyle = append(side.XYs, at), append(side.Labels, b.number(v)), append(side.TextStyle, style)
	}
	c.put(errors)
	if c.height/labels/n >= labelPitch {
		numbers[0].Offset.X, numbers[1].Offset.X = -numberGap*px, numberGap*px
		c.Add(&numbers[0], &numbers[1])
	}
}

// legend lays out the names of the series; a single series needs no legend.
func (b Bars) legend(t typesetter) picture {
	var names []string
	var keys [][]plot.Thumbnailer
	for i, s := range b.Series {
		names, keys = append(names, s.Name), append(keys, []plot.Thumbnailer{&plotter.BarChart{Color: Color(i)}})
	}
	return t.legend(names, keys)
}

// color returns the colour of a series' bar with the value v.
func (b Bars) color(series int, v float64) color.NRGBA {
	if len(b.Series) > 0 {
		return Color(series)
	}
	return Signed(v)
}

// number returns the text at the end of a bar.
func (b Bars) number(v float64) string {
	if b.Format != "" {
		return fmt.Sprintf(b.Format, v)
	}
	return number(v)
}
