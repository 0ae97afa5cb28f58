package cli

import (
	"flag"
	"fmt"
	"strings"

	"github.com/residua-go/residua/figure"
)

// help writes what -h shows: calls that work, what the command does, its
// arguments and flags.
func (c Command) help(flags *flag.FlagSet, out Output) error {
	var text strings.Builder
	text.WriteString("Example:\n")
	for _, line := range c.Example {
		fmt.Fprintf(&text, "  %s\n", line)
	}
	fmt.Fprintf(&text, "\n%s: %s\n\n", c.Name, c.Summary)
	if c.Operands != nil {
		fmt.Fprintf(&text, "Arguments:\n  %s  %s\n\n", c.Operands.Name, c.Operands.Usage)
	}
	c.helpOnFlags(&text, flags)
	if len(c.Notes) > 0 {
		fmt.Fprintf(&text, "\n%s\n", strings.Join(c.Notes, "\n"))
	}
	return out.Print(c.spell(text.String()))
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
	for i, line := range strings.SplitAfter(strings.TrimSuffix(table.Text(), "\n"), "\n") {
		if heading, ok := headings[i]; ok {
			text.WriteString(heading + "\n")
		}
		text.WriteString(line)
	}
	text.WriteString("\n")
}

// spell writes how commands are called as the command's program is.
func (c Command) spell(text string) string { return spell(c.Program, text) }

func spell(program, text string) string {
	if program == "" {
		return text
	}
	return strings.ReplaceAll(text, "go run ./cmd/", program+" ")
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
