package page

import "github.com/residua-go/residua/figure"

// tableView is a table's cells as the outline takes them, rows all of one length.
type tableView struct {
	Header []cell // nil: none
	Rows   [][]cell
	Note   string
}

type cell struct {
	Text  string
	Right bool // aligned to the right
}

func tableOf(t figure.Table) *tableView {
	columns := len(t.Header)
	for _, row := range t.Rows {
		columns = max(columns, len(row))
	}
	v := &tableView{Note: t.Note}
	if len(t.Header) > 0 {
		v.Header = cells(t.Header, columns, t.Align)
	}
	for _, row := range t.Rows {
		v.Rows = append(v.Rows, cells(row, columns, t.Align))
	}
	return v
}

func cells(texts []string, columns int, align string) []cell {
	row := make([]cell, columns)
	for c := range row {
		row[c].Right = c < len(align) && align[c] == 'r'
		if c < len(texts) {
			row[c].Text = figure.Visible(texts[c])
		}
	}
	return row
}
