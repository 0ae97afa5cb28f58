package figure

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// leastBroken is the smallest width to which the words of a column are broken, in characters.
const leastBroken = 20

// Within returns the table with a limit for Text, whose lines are at most columns characters long.
// If the table is too wide, the words of its last column are broken into several rows, unless that
// is aligned to the right. If that is not enough, its columns are shown in several tables below one
// another, each of which begins with the first column. A cell that is too wide by itself stays
// so. 0 is no limit.
func (t Table) Within(columns int) Table {
	t.limit = columns
	return t
}

// fitting returns the tables that Text shows below one another.
func (t Table) fitting() []Table {
	widths := t.widths(t.filled(Visible))
	if t.limit <= 0 || len(widths) < 2 || lineLength(widths) <= t.limit {
		return []Table{t}
	}
	last := len(widths) - 1
	if !t.Right(last) {
		widths[last] = min(widths[last], leastBroken)
	}
	var tables []Table
	for next := 1; next <= last; {
		chosen, width := []int{0}, widths[0]
		for next <= last && (len(chosen) == 1 || width+len(gap)+widths[next] <= t.limit) {
			chosen, width = append(chosen, next), width+len(gap)+widths[next]
			next++
		}
		part := t.selected(chosen)
		if next > last && !t.Right(last) {
			part = part.broken()
		}
		tables = append(tables, part)
	}
	for i := range tables[1:] {
		tables[i+1].Title, tables[i].Note = "", ""
	}
	return tables
}

// selected returns the table with some of its columns.
func (t Table) selected(columns []int) Table {
	pick := func(row []string) []string {
		cells := make([]string, len(columns))
		for i, c := range columns {
			if c < len(row) {
				cells[i] = row[c]
			}
		}
		return cells
	}
	part, align := t, make([]byte, len(columns))
	for i, c := range columns {
		if align[i] = 'l'; t.Right(c) {
			align[i] = 'r'
		}
	}
	if len(t.Header) > 0 {
		part.Header = pick(t.Header)
	}
	part.Align, part.Rows = string(align), nil
	for _, row := range t.Rows {
		part.Rows = append(part.Rows, pick(row))
	}
	return part
}

// broken breaks the last column's words into several rows, as far as lines are too long.
func (t Table) broken() Table {
	widths := t.widths(t.filled(Visible))
	last := len(widths) - 1
	room := t.limit - lineLength(widths) + widths[last]
	rows := t.Rows
	t.Rows = nil
	for _, row := range rows {
		for i, line := range broken(row[last], room) {
			cells := make([]string, last, last+1)
			if i == 0 {
				cells = slices.Clone(row[:last])
			}
			t.Rows = append(t.Rows, append(cells, line))
		}
	}
	return t
}

// lineLength returns the length of a line with columns of these widths.
func lineLength(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}

// broken breaks a text into lines of at most width characters, or of a single longer word. A text
// that fits is unchanged.
func broken(text string, width int) []string {
	if utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		line := &lines[len(lines)-1]
		switch {
		case *line == "":
			*line = word
		case utf8.RuneCountInString(*line)+1+utf8.RuneCountInString(word) <= width:
			*line += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}
