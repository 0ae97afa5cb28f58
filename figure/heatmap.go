package figure

import (
	"math"
	"strconv"
)

// Sizes of heatmaps, in px.
const (
	bodyMost    = 720.0 // a side
	cellMost    = 30.0
	cellWide    = 60.0  // a cell's width where its column's label asks for it
	labelMost   = 190.0 // a label's length
	labelPitch  = 13.0  // from label to label
	barLeast    = 90.0  // a colour bar's height
	barMost     = 320.0
	tickGap     = 5.0
	tickLength  = 3.0
	labelMargin = 18.0 // an axis' label
)

// axis is the labels along a side of a heatmap.
type axis struct {
	labels  []string
	indices bool    // they are numbers
	step    float64 // from cell to cell
	every   int     // a label each so many cells
	upright bool    // written from the bottom up
	room    float64 // across the axis
}

// namesOf are the labels of n rows or columns.
func namesOf(labels []string, n int) []string {
	names := make([]string, n)
	for i := range names {
		if labels == nil {
			names[i] = strconv.Itoa(i)
		} else {
			names[i] = Name(labels[i])
		}
	}
	return names
}

// cellSide is a side of n cells: whole device pixels, as large as fits.
func cellSide(n int, most float64) float64 {
	side := min(most, math.Floor(density*bodyMost/float64(n))/density)
	if side == 0 {
		return bodyMost / float64(n) // cells share pixels
	}
	return side
}

// rowAxis lays out the labels at the left.
func (t typesetter) rowAxis(labels []string, n int, step float64) axis {
	a := axis{labels: namesOf(labels, n), indices: labels == nil, step: step, every: every(step, labelPitch)}
	a.cut(t, labelMost)
	a.room = a.longest(t) + tickGap + tickLength
	return a
}

// longest is the width of the widest label that is shown.
func (a axis) longest(t typesetter) (width float64) {
	for i := 0; i < len(a.labels); i += a.every {
		width = max(width, t.width(a.labels[i], tickSize, false))
	}
	return width
}

// columnAxis lays out the labels below: across if all fit, or if they are numbers, else upright.
func (t typesetter) columnAxis(labels []string, n int, step float64) axis {
	a := axis{labels: namesOf(labels, n), indices: labels == nil, step: step}
	a.cut(t, labelMost)
	widest := t.widest(a.labels, tickSize)
	if a.every = every(step, widest+8); a.indices || a.every == 1 {
		a.room = tickSize + tickGap + tickLength
		return a
	}
	a.every, a.upright = every(step, labelPitch), true
	a.room = a.longest(t) + tickGap + tickLength
	return a
}

// cut shortens the labels.
func (a axis) cut(t typesetter, width float64) {
	for i := range a.labels {
		a.labels[i] = t.cut(a.labels[i], tickSize, width, false)
	}
}

// paintRows writes labels to the left of the painter's corner.
func (a axis) paintRows(p painter) {
	for i := 0; i < len(a.labels); i += a.every {
		y := (float64(i) + 0.5) * a.step
		p.line([][2]float64{{-tickLength, y}, {0, y}}, outline, 1)
		p.text(-tickGap-tickLength+2, y, a.labels[i], textStyle{align: 1})
	}
}

// paintColumns writes labels below the painter's corner.
func (a axis) paintColumns(p painter) {
	for i := 0; i < len(a.labels); i += a.every {
		x := (float64(i) + 0.5) * a.step
		p.line([][2]float64{{x, 0}, {x, tickLength}}, outline, 1)
		if a.upright {
			p.text(x, tickLength+tickGap-2, a.labels[i], textStyle{align: 1, upward: true})
		} else {
			p.text(x, tickLength+tickGap+tickSize/2-2, a.labels[i], textStyle{align: 0.5})
		}
	}
}

func (h Heatmap) layout(t typesetter) picture {
	rows, columns := len(h.Values), len(h.Values[0])
	stepY := cellSide(rows, cellMost)
	stepX := h.cellWidth(t, columns, stepY)
	wide, high, texts := h.textCells(t)
	if texts {
		stepX, stepY = wide, high
	}
	width, height := stepX*float64(columns), stepY*float64(rows)
	left, below := t.rowAxis(h.Rows, rows, stepY), t.columnAxis(h.Columns, columns, stepX)
	colours := colouringOf(h.Values, h.Diverging)
	if len(h.Limits) > 0 {
		colours.low, colours.high = h.Limits[0], h.Limits[1]
	}
	bar := colours.bar(t, math.Round(max(barLeast, min(barMost, height))))
	x, top := math.Ceil(left.room), 6.0 // the topmost number of the bar reaches above
	if h.YLabel != "" {
		x += labelMargin
	}
	foot := below.room
	if h.XLabel != "" {
		foot += labelMargin
	}
	return picture{x + width + barGap + bar.width, top + max(height+foot, bar.height+6), func(p painter) {
		body := p.moved(x, top)
		body.image(0, 0, width, height, colours.image(h.Values, int(math.Round(width*density)), int(math.Round(height*density))))
		if texts {
			h.paintCells(body, colours, stepX, stepY)
		}
		body.frame(0, 0, width, height, outline)
		left.paintRows(body)
		below.paintColumns(body.moved(0, height))
		if !colours.none {
			bar.paint(body.moved(width+barGap, 0))
		}
		body.axisLabels(h.XLabel, h.YLabel, width, height, below.room, x)
	}}
}

// cellWidth is the columns' width: the rows' height, more where the columns' names ask for it, or
// where there are few.
func (h Heatmap) cellWidth(t typesetter, columns int, height float64) float64 {
	side := cellSide(columns, cellMost)
	if h.Columns != nil {
		if wanted := math.Ceil(t.widest(namesOf(h.Columns, columns), tickSize)) + 8; wanted <= cellWide {
			side = min(max(side, wanted), cellSide(columns, cellWide))
		}
	}
	if square := cellSide(max(columns, len(h.Values)), cellMost); float64(columns)*square >= bodyMost/3 && square > side/2 {
		return min(side, square)
	}
	return side
}

// axisLabels writes what the axes are, below the columns' labels and left of the rows'.
func (p painter) axisLabels(x, y string, width, height, below, left float64) {
	if x != "" {
		text := p.cut(Visible(x), labelSize, max(width, 200), false)
		p.text(max(width/2, p.width(text, labelSize, false)/2-left), height+below+labelMargin-labelSize/2, text, textStyle{size: labelSize, align: 0.5})
	}
	if y != "" {
		text := p.cut(Visible(y), labelSize, max(height, 90), false)
		at := max(height/2, p.width(text, labelSize, false)/2)
		p.text(labelSize/2-left, at, text, textStyle{size: labelSize, align: 0.5, upward: true})
	}
}
