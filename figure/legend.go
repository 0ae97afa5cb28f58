package figure

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of legends.
const (
	legendKey  = 24.0  // px
	legendMost = 220.0 // largest length of a name, px
	legendRows = 24
)

// legend lays out the names of series, each after its key, and the number of those beyond
// legendRows. Without names it is empty.
func (t typesetter) legend(names []string, keys [][]plot.Thumbnailer) picture {
	if len(names) == 0 {
		return picture{}
	}
	l := plot.NewLegend()
	l.Top, l.Left, l.ThumbnailWidth, l.Padding, l.TextStyle = true, true, legendKey*px, 6*px, t.styled(l.TextStyle, tickSize, false)
	for i, name := range names {
		if i == legendRows-1 && len(names) > legendRows {
			l.Add(fmt.Sprintf("… and %d more", len(names)-i))
			break
		}
		l.Add(t.cut(Name(name), tickSize, legendMost, false), keys[i]...)
	}
	const wider = 1.15 // a viewer's font may be wider than the one measured
	size := l.Rectangle(draw.Canvas{}).Size()
	width, height := float64(size.X/px), float64(size.Y/px)
	return picture{wider * width, height, 0, func(p painter) { l.Draw(p.within(width, height)) }}
}
