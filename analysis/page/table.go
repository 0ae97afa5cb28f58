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
	v := &tableView{Note: t.Note}
	for i, texts := range t.Visible() {
		row := make([]cell, len(texts))
		for c, text := range texts {
			row[c] = cell{text, t.Right(c)}
		}
		if i == 0 && len(t.Header) > 0 {
			v.Header = row
		} else {
			v.Rows = append(v.Rows, row)
		}
	}
	return v
}
