package figure

import (
	"encoding/csv"
	"fmt"
	"strings"
	"unicode/utf8"
)

// NewTable returns a table without rows, with its title, the alignment of each column, l or r, and
// the header.
func NewTable(title, align string, header ...string) Table {
	return Table{Title: title, Align: align, Header: header}
}

// Row adds a row: texts unchanged, float64 with four digits, other values as fmt.Sprint formats
// them.
func (t *Table) Row(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		if v, is := cell.(float64); is {
			row[i] = fmt.Sprintf("%.4g", v)
		} else {
			row[i] = fmt.Sprint(cell)
		}
	}
	t.Rows = append(t.Rows, row)
}

// gap separates the columns of a text.
const gap = "  "

// Text returns the table as lines with aligned columns two spaces apart: title and header (if any)
// first, the note last, within the limit of Within. Control characters in cells are made visible.
func (t Table) Text() string {
	var parts []string
	for _, part := range t.fitting() {
		parts = append(parts, part.text())
	}
	return strings.Join(parts, "\n")
}

// text is Text without the limit for rows.
func (t Table) text() string {
	rows := t.Visible()
	widths := t.widths(rows)
	var text strings.Builder
	if t.Title != "" {
		title := []string{Visible(t.Title)}
		if t.limit > 0 {
			title = broken(title[0], t.limit)
		}
		text.WriteString(strings.Join(title, "\n") + "\n\n")
	}
	for i, row := range rows {
		text.WriteString(t.line(row, widths))
		if i == 0 && len(t.Header) > 0 {
			rule := make([]string, len(widths))
			for c, width := range widths {
				rule[c] = strings.Repeat("-", width)
			}
			text.WriteString(t.line(rule, widths))
		}
	}
	if t.Note != "" {
		text.WriteString("\n" + t.Note + "\n")
	}
	return text.String()
}

// Markdown returns a pipe table of GitHub Flavored Markdown, with the title in bold above it and
// the note below. Pipes and backslashes in cells are escaped, control characters made visible.
func (t Table) Markdown() string {
	columns := t.columns()
	if columns == 0 {
		return ""
	}
	cell := func(s string) string { return markdownEscaper.Replace(Visible(s)) }
	rows := t.filled(cell)
	if len(t.Header) == 0 { // the format has no table without a header
		rows = append([][]string{make([]string, columns)}, rows...)
	}
	var text strings.Builder
	if t.Title != "" {
		text.WriteString("**" + cell(t.Title) + "**\n\n")
	}
	for i, row := range rows {
		text.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i > 0 {
			continue
		}
		for c := range columns {
			if t.Right(c) {
				text.WriteString("| ---: ")
			} else {
				text.WriteString("| --- ")
			}
		}
		text.WriteString("|\n")
	}
	if t.Note != "" {
		text.WriteString("\n" + markdownEscaper.Replace(t.Note) + "\n")
	}
	return text.String()
}

// markdownEscaper keeps a cell's text from ending the cell or starting markup.
var markdownEscaper = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "&", "&amp;", "[", `\[`)

// CSV returns header and rows as RFC 4180 records, with unchanged cells and without title and note.
func (t Table) CSV() string {
	var text strings.Builder
	w := csv.NewWriter(&text)
	for _, row := range t.filled(func(s string) string { return s }) {
		w.Write(row) // a strings.Builder never fails
	}
	w.Flush()
	return text.String()
}

// Visible returns the header (if any) and the rows, padded to one length, with invisible characters
// made visible. Templates of pages use it.
func (t Table) Visible() [][]string { return t.filled(Visible) }

// columns returns the length of the longest row.
func (t Table) columns() int {
	columns := len(t.Header)
	for _, row := range t.Rows {
		columns = max(columns, len(row))
	}
	return columns
}

// filled returns the header (if any) and the rows, padded to one length, with each cell rewritten.
func (t Table) filled(rewrite func(string) string) [][]string {
	var rows [][]string
	columns := t.columns()
	add := func(cells []string) {
		row := make([]string, columns)
		for c, cell := range cells {
			row[c] = rewrite(cell)
		}
		rows = append(rows, row)
	}
	if len(t.Header) > 0 {
		add(t.Header)
	}
	for _, row := range t.Rows {
		add(row)
	}
	return rows
}

func (t Table) widths(rows [][]string) []int {
	widths := make([]int, t.columns())
	for _, row := range rows {
		for c, cell := range row {
			widths[c] = max(widths[c], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// line returns one row as text.
func (t Table) line(row []string, widths []int) string {
	var line strings.Builder
	for c, cell := range row {
		if c > 0 {
			line.WriteString(gap)
		}
		padding := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(cell))
		if t.Right(c) {
			line.WriteString(padding + cell)
		} else {
			line.WriteString(cell + padding)
		}
	}
	return strings.TrimRight(line.String(), " ") + "\n"
}

// Right tells whether column c is aligned to the right.
func (t Table) Right(c int) bool { return c < len(t.Align) && t.Align[c] == 'r' }
