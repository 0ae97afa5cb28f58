package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/settings"
)

// help writes what -h shows: calls that work, what the command does, its
// arguments and flags.
func (c Command) help(flags *flag.FlagSet, out Output) error {
	var text strings.Builder
	text.WriteString(c.helpHead())
	if c.Operands != nil {
		fmt.Fprintf(&text, "Arguments:\n  %s  %s\n\n", c.Operands.Name, c.Operands.Usage)
	}
	c.helpOnFlags(&text, flags)
	return out.Print(text.String() + c.helpTail())
}

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

// helpOnFlags lists the flags, those of groups after the others, all columns aligned.
func (c Command) helpOnFlags(text *strings.Builder, flags *flag.FlagSet) {
	grouped := map[string]bool{}
	for _, g := range c.Groups {
		for _, name := range g.Flags {
			grouped[name] = true
		}
	}
	var table figure.Table
	row := func(f *flag.Flag) { table.Row(append([]string{""}, describe(f)...)...) }
	flags.VisitAll(func(f *flag.Flag) {
		if !grouped[f.Name] {
			row(f)
		}
	})
	table.Row("", "-h", "show this")
	headings := map[int]string{0: "Flags:"} // by the row that they stand above
	for _, g := range c.Groups {
		headings[len(table.Rows)] = "\n" + g.Heading + ":"
		for _, name := range g.Flags {
			row(flags.Lookup(name))
		}
	}
	text.WriteString(underHeadings(table, headings))
}

// call writes how a command with its arguments is called in a program.
func call(program, command string) string { return strings.TrimPrefix(program+" "+command, " ") }

// helpOnSettings is help of a command whose flags are its Settings.
func (c Command) helpOnSettings(flags settings.Flags, out Output) error {
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

// describe returns a flag with its value's name, and what it does with its default.
func describe(f *flag.Flag) []string {
	value, usage := flag.UnquoteUsage(f)
	name := "-" + f.Name
	if value != "" && !isBool(f) {
		name += " " + value
	}
	if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" {
		usage += fmt.Sprintf(" (default %s)", f.DefValue)
	}
	return []string{name, usage}
}
