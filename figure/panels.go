package figure

import "math"

// Sizes of panels, in px.
const (
	panelTop   = 6.0  // the topmost number may reach above
	panelTitle = 22.0 // above a chart that has a title
	panelGap   = 12.0 // between rows
	panelEdge  = 16.0 // right of a chart: the last number may reach further
)

// grid is how charts are laid out.
type grid struct {
	x, y          scale
	left, foot    float64 // room for numbers and labels
	width, height float64 // of a chart's cell
	top           float64 // above a chart's body
	across, down  int
	most          int  // points of a line
	names         axis // in the place of numbers below; none: numbers
}

// grid lays the charts out, all over the same scales.
func (p Panels) grid(t typesetter) grid {
	joint, series := p.Charts[0], 0
	joint.Series = nil
	g := grid{across: p.Across, top: panelTop}
	for _, l := range p.Charts {
		joint.Series = append(joint.Series, l.Series...)
		series = max(series, len(l.Series))
		if l.Title != "" {
			g.top = panelTitle
		}
	}
	g.x, g.y = joint.scales()
	g.x.length, g.y.length = linesWidth, linesHeight
	if len(p.Charts) > 1 {
		g.x.length, g.y.length = panelWidth, panelHeight
	}
	if g.across < 1 || g.across > len(p.Charts) {
		g.across = len(p.Charts)
	}
	g.down = (len(p.Charts) + g.across - 1) / g.across
	for _, l := range p.Charts {
		for _, tick := range p.axes(g, l).y.ticks(7) {
			g.left = max(g.left, t.width(tick.label, tickSize, false))
		}
	}
	g.left = math.Ceil(g.left + tickGap + tickLength)
	if joint.YLabel != "" {
		g.left += labelMargin
	}
	g.foot = tickSize + tickGap + tickLength
	if joint.XNames != nil {
		g.names = t.columnAxis(joint.XNames, len(joint.XNames), g.x.at(1)-g.x.at(0))
		g.foot = g.names.room
	}
	if joint.XLabel != "" {
		g.foot += labelMargin
	}
	g.width, g.height = g.left+g.x.length+panelEdge, g.top+g.y.length+g.foot
	g.most = max(20, min(pointsMost, pointsTotal/series))
	return g
}

// axes is the grid with the axes of one of the charts.
func (p Panels) axes(g grid, l Lines) grid {
	if p.OwnAxes {
		width, height := g.x.length, g.y.length
		g.x, g.y = l.scales()
		g.x.length, g.y.length = width, height
	}
	return g
}

func (p Panels) layout(t typesetter) picture {
	g, legend := p.grid(t), p.Charts[0].legend(t)
	width := float64(g.across) * g.width
	if legend.width > 0 {
		width += 4 + legend.width
	}
	return picture{width, max(float64(g.down)*(g.height+panelGap)-panelGap, g.top+legend.height), func(at painter) {
		for i, l := range p.Charts {
			if !p.OwnAxes {
				l.XLabel, l.YLabel = p.Charts[0].XLabel, p.Charts[0].YLabel
			}
			l.paint(at.moved(float64(i%g.across)*g.width, float64(i/g.across)*(g.height+panelGap)), p.axes(g, l))
		}
		legend.paint(at.moved(float64(g.across)*g.width+4, g.top))
	}}
}

// paint draws a chart into its cell.
func (l Lines) paint(cell painter, g grid) {
	if l.Title != "" {
		title := cell.cut(Visible(l.Title), labelSize, g.x.length, true)
		cell.text(g.left+g.x.length/2, panelTitle/2-2, title, textStyle{size: labelSize, bold: true, align: 0.5})
	}
	body := cell.moved(g.left, g.top)
	if g.names.labels == nil {
		g.x.paintBelow(body, g.y.length)
	} else {
		g.x.paintNames(body, g.y.length, g.names)
	}
	g.y.paintLeft(body, g.x.length)
	for i, s := range l.Series {
		s.paintRaw(body, g.x, g.y, pale(l.style(i).color), min(g.most, rawMost))
	}
	for i, s := range l.Series {
		s.paint(body, g.x, g.y, l.style(i), g.most)
	}
	body.axisLabels(l.XLabel, l.YLabel, g.x.length, g.y.length, g.foot-labelMargin, g.left)
}
