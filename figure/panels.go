package figure

// panelGap is the distance between charts, in px.
const panelGap = 14.0

func (p Panels) layout(t typesetter) picture {
	joint, series := p.Charts[0], 0 // the chart that axes and legend are made from
	joint.Series = nil
	for _, l := range p.Charts {
		joint.Series, series = append(joint.Series, l.Series...), max(series, len(l.Series))
	}
	x, y := joint.scales()
	width, height := linesWidth, linesHeight
	if len(p.Charts) > 1 {
		width, height = panelWidth, panelHeight
	}
	var charts []chart
	for _, l := range p.Charts {
		c := t.chart(l.Title, width, height)
		if p.OwnAxes {
			x, y = l.scales()
		} else {
			l.XLabel, l.YLabel, l.XNames = joint.XLabel, joint.YLabel, joint.XNames
		}
		c.labels(l.XLabel, l.YLabel)
		x.onto(&c.X)
		y.onto(&c.Y)
		if l.XNames != nil {
			low, high := c.X.Min, c.X.Max
			c.names(&c.X, l.XNames, len(l.XNames), labelMost)
			c.X.Min, c.X.Max = low, high
		}
		c.gridded(true, true)
		l.add(c, x, y, max(20, min(pointsMost, pointsTotal/series)))
		charts = append(charts, c)
	}
	across := p.Across
	if across < 1 || across > len(charts) {
		across = len(charts)
	}
	return tiled(charts, across, panelGap).beside(p.Charts[0].legend(t), 4)
}
