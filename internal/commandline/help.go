package commandline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/settings"
)

// helpHead returns the beginning of what -h shows.
func helpHead(program, name, summary, example string) string {
	text := "Example:\n"
	for _, line := range lines(example) {
		text += "  " + call(program, line) + "\n"
	}
	return text + fmt.Sprintf("\n%s: %s\n\n", name, summary)
}

// helpTail returns the end of what -h shows.
func helpTail(notes string) string {
	if notes == "" {
		return ""
	}
	return "\n" + strings.Join(lines(notes), "\n") + "\n"
}

// lines splits a text into lines and removes the tabs at their beginning.
func lines(text string) []string {
	all := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range all {
		all[i] = strings.TrimLeft(line, "\t")
	}
	return all
}

// call returns the call of a command with its arguments in a program; a comment line stays as it
// is.
func call(program, command string) string {
	if strings.HasPrefix(command, "#") {
		return command
	}
	return strings.TrimPrefix(program+" "+command, " ")
}

// help writes what -h shows: calls that work, what the command does, its arguments and flags.
func (c Command) help(flags settings.Flags, out Output) error {
	text := helpHead(c.Program, c.Name, c.Summary, c.Example)
	switch f, name := flags.Operand(); {
	case f == nil:
	case f.Operand:
		text += fmt.Sprintf("Arguments:\n  %s  %s\n\n", name, f.Help)
	default:
		text += fmt.Sprintf("Arguments:\n  %s  the same as -%s\n\n", name, f.Name)
	}
	groups := []string{""}
	for _, f := range flags {
		if !slices.Contains(groups, f.Group) {
			groups = append(groups, f.Group)
		}
	}
	var table figure.Table
	headings := map[int]string{} // by the row above which they stand
	for _, group := range groups {
		headings[len(table.Rows)] = "\n" + group + ":"
		for _, f := range flags {
			if f.Group == group && !f.Operand {
				table.Row("", strings.TrimRight("-"+f.Name+" "+f.Value, " "), f.Help)
			}
		}
		if group == "" {
			table.Row("", "-h", "show this")
		}
	}
	headings[0] = "Flags:"
	return out.Print(text + underHeadings(table, headings) + helpTail(c.Notes))
}

// underHeadings formats a table, with headings above some of its rows.
func underHeadings(table figure.Table, headings map[int]string) string {
	var text strings.Builder
	for i, line := range strings.SplitAfter(strings.TrimSuffix(table.Text(), "\n"), "\n") {
		if heading, ok := headings[i]; ok {
			text.WriteString(heading + "\n")
		}
		text.WriteString(line)
	}
	text.WriteString("\n")
	return text.String()
}
