package cli

import (
	"strings"
	"unicode/utf8"
)

// Table lines up columns.
type Table struct {
	Indent string
	Align  string // a letter a column: r for right, l for left, as are those beyond
	rows   [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// String returns the lines, columns two spaces apart.
func (t *Table) String() string {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(t.align(i, cell, widths[i]))
		}
		text.WriteString(t.Indent + strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

// align pads a cell of column i.
func (t *Table) align(i int, cell string, width int) string {
	gap := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if i < len(t.Align) && t.Align[i] == 'r' {
		return gap + cell
	}
	return cell + gap
}
