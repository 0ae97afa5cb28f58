package figure

import (
	"fmt"
	"math"
)

// Sizes of attention grids, in px.
const (
	headCell     = 12.0 // side of a cell if every token is written
	gridHeight   = 1400.0
	headGap      = 18.0
	tokenMost    = 80.0
	headLeast    = 48.0
	headMost     = 420.0
	headLabelled = 240.0 // at this size or more, some tokens are written if not all fit
	headsMost    = 240
)

func (a Attention) layout(t typesetter) picture {
	n, heads := len(a.Tokens), min(len(a.Patterns), headsMost)
	colours := a.colouring()
	note := "rows: queries, columns: keys"
	// All tokens are written if they fit, otherwise the heatmaps are small.
	side, across, named := headCell*float64(n), int(math.Ceil(math.Sqrt(float64(heads)))), true
	one := tiled([]chart{a.chart(t, colours, 0, side, named)}, 1, headGap)
	across = max(1, min(across, int((pageWidth+headGap)/(one.width+headGap))))
	down := (heads + across - 1) / across
	if float64(across)*(one.width+headGap) > pageWidth+headGap || float64(down)*(one.height+headGap) > gridHeight+headGap {
		across = max(1, min(heads, 16, int(math.Ceil(math.Sqrt(1.5*float64(heads))))))
		side = max(headLeast, min(headMost, math.Floor((pageWidth+headGap)/float64(across)-headGap)))
		if cell := math.Floor(density*side/float64(n)) / density; cell > 0 {
			side = cell * float64(n) // make cells a whole number of pixels
		}
		named = side >= headLabelled && across <= 2
	}
	if !named {
		note += fmt.Sprintf("; %d tokens", n)
	}
	if len(a.Patterns) > heads {
		note += fmt.Sprintf("; the first %d of %d heads", heads, len(a.Patterns))
	}
	var charts []chart
	for h := range heads {
		charts = append(charts, a.chart(t, colours, h, side, named))
	}
	grid := tiled(charts, across, headGap)
	whole := grid.beside(colours.bar(t, grid.height), barGap)
	const foot = 20.0
	return picture{whole.width, whole.height + foot, whole.top, func(p painter) {
		whole.paint(p)
		p.text(0, whole.height+foot-noteSize/2, note, textStyle{size: noteSize, color: grey})
	}}
}

// chart returns a head's heatmap, with its tokens if named.
func (a Attention) chart(t typesetter, colours colouring, h int, side float64, named bool) chart {
	name := fmt.Sprint("head ", h)
	if a.Heads != nil {
		name = Name(a.Heads[h])
	}
	c, labels := t.chart(name, side, side), make([]string, len(a.Tokens))
	for i, token := range a.Tokens {
		labels[i] = Label(token)
	}
	c.names(&c.X, labels, len(labels), tokenMost)
	c.names(&c.Y, labels, len(labels), tokenMost)
	c.fromTheTop()
	if !named {
		c.HideAxes()
	}
	c.image(colours, a.Patterns[h])
	return c
}

// colouring returns the colours for all heads: from 0 to the largest value, or around 0 if some
// values are negative.
func (a Attention) colouring() colouring {
	var rows [][]float64
	for _, pattern := range a.Patterns {
		rows = append(rows, pattern...)
	}
	c := colouringOf(rows, false)
	if c.low < 0 {
		return colouringOf(rows, true)
	}
	c.scale, c.low = Intensity(), 0
	if c.high == 0 {
		c.high = 1
	}
	return c
}
