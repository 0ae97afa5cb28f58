package figure

import "math"

// Sizes of heatmaps whose cells have texts, in px.
const (
	textCellHigh  = 18.0
	textCellWide  = 72.0   // the most
	textCellLeast = 20.0   // no texts in narrower cells
	textBodyMost  = 2000.0 // of a side
	textCellEdge  = 3.0    // between a text and its cell's sides
)

// textCells are the cells' width and height if they have texts that can be read.
func (h Heatmap) textCells(t typesetter) (width, height float64, ok bool) {
	if h.Cells == nil || float64(len(h.Cells))*textCellHigh > textBodyMost {
		return 0, 0, false
	}
	wanted := textCellLeast
	for _, row := range h.Cells {
		wanted = max(wanted, math.Ceil(t.widest(namesOf(row, len(row)), noteSize)+2*textCellEdge))
	}
	width = min(wanted, textCellWide, math.Floor(textBodyMost/float64(len(h.Cells[0]))))
	return width, textCellHigh, width >= textCellLeast
}

// paintCells writes the cells' texts, light ones on dark colours.
func (h Heatmap) paintCells(p painter, colours colouring, width, height float64) {
	for i, row := range h.Cells {
		for j, text := range namesOf(row, len(row)) {
			style := textStyle{size: noteSize, align: 0.5}
			if v := h.Values[i][j]; finite(v) && colours.dark(v) {
				style.color = white
			}
			text = p.cut(text, noteSize, width-2*textCellEdge, false)
			p.text((float64(j)+0.5)*width, (float64(i)+0.5)*height, text, style)
		}
	}
}

// dark tells whether a value's colour asks for light text.
func (c colouring) dark(v float64) bool {
	at := c.scale.At(c.at(v))
	return 0.299*float64(at.R)+0.587*float64(at.G)+0.114*float64(at.B) < 140 // luma, ITU-R BT.601
}
