package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/settings"
)

// helpHead is what -h shows above the flags.
func (c Command) helpHead() string {
	text := "Example:\n"
	for _, line := range c.Example {
		text += fmt.Sprintf("  %s\n", call(c.Program, line))
	}
	return text + fmt.Sprintf("\n%s: %s\n\n", c.Name, c.Summary)
}

// helpTail is what -h shows below the flags.
func (c Command) helpTail() string {
	if len(c.Notes) == 0 {
		return ""
	}
	return "\n" + strings.Join(c.Notes, "\n") + "\n"
}

// call writes how a command with its arguments is called in a program; a comment stays as it is.
func call(program, command string) string {
	if strings.HasPrefix(command, "#") {
		return command
	}
	return strings.TrimPrefix(program+" "+command, " ")
}

// help writes what -h shows: calls that work, what the command does, its arguments and flags.
func (c Command) help(flags settings.Flags, out Output) error {
	text := c.helpHead()
	if o := flags.Operand(); o != nil {
		text += fmt.Sprintf("Arguments:\n  %s  %s\n\n", o.Name, o.Help)
	}
	groups := []string{""}
	for _, f := range flags {
		if !slices.Contains(groups, f.Group) {
			groups = append(groups, f.Group)
		}
	}
	var table figure.Table
	headings := map[int]string{} // by the row that they stand above
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
	return out.Print(text + underHeadings(table, headings) + c.helpTail())
}

// underHeadings is a table's text with headings above some rows.
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
