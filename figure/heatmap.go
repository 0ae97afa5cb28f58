package figure

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Sizes of heatmaps, in px.
const (
	bodyMost = 720.0 // largest length of a side
	cellMost = 30.0
	cellWide = 60.0 // largest width of a cell with a wide column label

	textCellHigh  = 18.0 // height of cells with texts
	textCellWide  = 72.0
	textCellLeast = 20.0   // narrower cells have no texts
	textBodyMost  = 2000.0 // largest side with texts
	textCellEdge  = 3.0    // between a text and the sides of its cell
)

// namesOf returns the labels of n rows or columns.
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

// cellSide returns the side of n cells: as large as fits, in whole device pixels.
func cellSide(n int, most float64) float64 {
	side := min(most, math.Floor(density*bodyMost/float64(n))/density)
	if side == 0 {
		return bodyMost / float64(n) // several cells share a pixel
	}
	return side
}

func (h Heatmap) layout(t typesetter) picture {
	rows, columns := len(h.Values), len(h.Values[0])
	high := cellSide(rows, cellMost)
	wide := h.cellWidth(t, columns)
	textWide, texts := h.textCellWidth(t)
	if texts {
		wide, high = textWide, textCellHigh
	}
	c := t.chart("", wide*float64(columns), high*float64(rows))
	c.labels(h.XLabel, h.YLabel)
	c.names(&c.X, h.Columns, columns, labelMost)
	c.names(&c.Y, h.Rows, rows, labelMost)
	c.fromTheTop()
	colours := colouringOf(h.Values, h.Diverging)
	if len(h.Limits) > 0 {
		colours.low, colours.high = h.Limits[0], h.Limits[1]
	}
	c.image(colours, h.Values)
	if texts {
		h.addTexts(c, colours, wide-2*textCellEdge)
	}
	return tiled([]chart{c}, 1, 0).beside(colours.bar(t, c.height), barGap)
}

// cellWidth returns the columns' width: the rows' height, or more if the columns' names need it or
// there are few columns.
func (h Heatmap) cellWidth(t typesetter, columns int) float64 {
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

// textCellWidth returns the cells' width if their texts can be read.
func (h Heatmap) textCellWidth(t typesetter) (width float64, ok bool) {
	if h.Cells == nil || float64(len(h.Cells))*textCellHigh > textBodyMost {
		return 0, false
	}
	wanted := textCellLeast
	for _, row := range h.Cells {
		wanted = max(wanted, math.Ceil(t.widest(namesOf(row, len(row)), noteSize)+2*textCellEdge))
	}
	width = min(wanted, textCellWide, math.Floor(textBodyMost/float64(len(h.Cells[0]))))
	return width, width >= textCellLeast
}

// addTexts writes the cells' texts, in a light colour on dark cells.
func (h Heatmap) addTexts(c chart, colours colouring, width float64) {
	style := c.typesetter.styled(c.X.Tick.Label, noteSize, false)
	style.Rotation, style.XAlign, style.YAlign = 0, draw.XCenter, middle
	c.Add(drawing(func(body draw.Canvas, p *plot.Plot) {
		for i, row := range h.Cells {
			for j, text := range namesOf(row, len(row)) {
				style.Color = black
				if v := h.Values[i][j]; finite(v) && colours.dark(v) {
					style.Color = white
				}
				at := vg.Point{X: body.X(p.X.Norm(float64(j))), Y: body.Y(p.Y.Norm(float64(i)))}
				body.FillText(style, at, c.typesetter.cut(text, noteSize, width, false))
			}
		}
	}))
}
