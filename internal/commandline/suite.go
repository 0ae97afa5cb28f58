package commandline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/spelling"
)

// Suite is a program of several commands, as in residua COMMAND flags. Its main is
//
//	command, args := suite().Choose(os.Args[1:])
//	os.Exit(commandline.Main(command, args, os.Stdout, os.Stderr))
type Suite struct {
	Name     string    // of the program, or of a command with subcommands
	Program  string    // as in Command; its commands get it, too
	Summary  string    // what it does, in one line
	Example  string    // as in Command
	Notes    string    // text that -h shows after the commands
	Default  string    // the command of a call that names none; "": a call must name one
	Commands []Command // without Name in their names, in the order of -h
	Suites   []Suite   // commands with subcommands, listed after Commands
}

// Choose returns the command that the first argument names, and the remaining arguments. For -h it
// returns a command that lists the commands, for a wrong call one that reports the error.
func (s Suite) Choose(args []string) (Command, []string) {
	self := Command{Name: s.Name, Program: s.Program}
	switch {
	case s.Default != "" && (len(args) == 0 || strings.HasPrefix(args[0], "-") && !isHelp(args[0])):
		return s.Choose(append([]string{s.Default}, args...))
	case len(args) == 0:
		self.Run = s.refuse("want a command, got nothing")
		return self, nil
	case args[0] == completion && s.Name == s.Program:
		return s.completion(), args[1:]
	case args[0] == complete && s.Name == s.Program:
		return s.complete(args[1:]), nil
	case isVersion(args[0]) && s.Name == s.Program:
		return s.version(), args[1:]
	case args[0] == "help" && len(args) > 1: // residua help train means residua train -h
		return s.Choose(append(slices.Clone(args[1:]), "-h"))
	case isHelp(args[0]):
		self.Run = func(_ context.Context, out Output) error { return s.help(out) }
		return self, nil
	}
	for _, c := range s.Commands {
		if c.Name == args[0] {
			c.Name, c.Program = s.Name+" "+c.Name, s.Program
			return c, args[1:]
		}
	}
	for _, sub := range s.Suites {
		if sub.Name == args[0] {
			sub.Name, sub.Program = s.Name+" "+sub.Name, s.Program
			return sub.Choose(args[1:])
		}
	}
	names := s.Names()
	for _, sub := range s.Suites { // residua lens means residua analyze lens
		for _, c := range sub.Commands {
			names = append(names, sub.Name+" "+c.Name)
		}
	}
	self.Run = s.refuse(unknownCommand(args[0], names))
	return self, nil
}

// Names lists the names of its commands.
func (s Suite) Names() []string {
	var names []string
	for _, c := range s.Commands {
		names = append(names, c.Name)
	}
	for _, sub := range s.Suites {
		names = append(names, sub.Name)
	}
	return names
}

// isHelp tells whether an argument asks for help.
func isHelp(arg string) bool {
	return slices.Contains([]string{"-h", "--h", "-help", "--help", "help"}, arg)
}

func unknownCommand(name string, known []string) string {
	if strings.HasPrefix(name, "-") {
		return fmt.Sprintf("want a command before the flags, got %q", name)
	}
	return fmt.Sprintf("unknown command %q%s", name, spelling.Hint(name, known))
}

// refuse returns a Run that reports a wrong call.
func (s Suite) refuse(problem string) func(context.Context, Output) error {
	return func(context.Context, Output) error { return Usagef("%s (%s -h lists all commands)", problem, s.Name) }
}

// help writes what -h shows: calls that work, what the program does, its commands.
func (s Suite) help(out Output) error {
	var table figure.Table
	for _, c := range s.Commands {
		table.Row("", c.Name, c.Summary)
	}
	for _, sub := range s.Suites {
		table.Row("", sub.Name, sub.Summary)
	}
	return out.Print(fmt.Sprintf("%sCommands:\n%s\n%s COMMAND -h shows a command's flags.\n%s", helpHead(s.Program, s.Name, s.Summary, s.Example), table.Text(),
		s.Name, helpTail(s.Notes)))
}
