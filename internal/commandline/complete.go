package commandline

import (
	"context"
	"fmt"
	"strings"
)

// Names of the commands for a shell's completion, which every program has.
const (
	completion = "completion" // prints the script that the shell loads
	complete   = "__complete" // lists completions for that script
)

// completion returns the command that prints the shell's script, which asks the program what may
// come next.
func (s Suite) completion() Command {
	return Command{Name: s.Name + " " + completion, Run: func(_ context.Context, out Output) error {
		return out.Print(fmt.Sprintf(`# completion of %[1]s's commands and flags, in bash: source <(%[1]s %[2]s)
# in zsh first: autoload -U +X bashcompinit && bashcompinit
_%[1]s() { local IFS=$'\n'; COMPREPLY=($("${COMP_WORDS[0]}" %[3]s "${COMP_WORDS[@]:1:COMP_CWORD}")); }
complete -o default -F _%[1]s %[1]s
`, s.Name, completion, complete))
	}}
}

// complete returns the command that lists the completions of the last word, one per line.
func (s Suite) complete(words []string) Command {
	return Command{Name: s.Name + " " + complete, Run: func(_ context.Context, out Output) error {
		last := ""
		if len(words) > 0 {
			last = words[len(words)-1]
		}
		for _, next := range s.next(words) {
			if strings.HasPrefix(next, last) {
				if err := out.Print(next + "\n"); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

// next lists the completions of the last word: commands, or the flags of the command that the words
// name.
func (s Suite) next(words []string) []string {
	if len(words) > 1 {
		for _, sub := range s.Suites {
			if sub.Name == words[0] {
				return sub.next(words[1:])
			}
		}
		for _, c := range s.Commands {
			if c.Name == words[0] {
				return c.flagNames()
			}
		}
	}
	return s.Names()
}

// flagNames returns the flags as they are typed.
func (c Command) flagNames() []string {
	flags, err := c.settingsFlags()
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range flags {
		if !f.Operand {
			names = append(names, "-"+f.Name)
		}
	}
	return names
}
