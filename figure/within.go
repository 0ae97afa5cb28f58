package figure

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Within breaks the last column's words into several rows, so that no line of Text is longer than
// columns characters, as long as the other columns leave room for the longest word.
func (t Table) Within(columns int) Table {
	widths := t.widths(t.filled(Visible))
	last := len(widths) - 1
	if last < 0 {
		return t
	}
	room := columns
	for _, width := range widths[:last] {
		room -= width + len("  ")
	}
	narrow := t
	narrow.Rows = nil
	for _, row := range t.Rows {
		if len(row) <= last {
			narrow.Rows = append(narrow.Rows, row)
			continue
		}
		for i, line := range broken(row[last], room) {
			cells := make([]string, last, last+1)
			if i == 0 {
				cells = slices.Clone(row[:last])
			}
			narrow.Rows = append(narrow.Rows, append(cells, line))
		}
	}
	return narrow
}

// broken breaks a text into lines of at most width characters, or of a single longer word.
func broken(text string, width int) []string {
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
