package commandline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// suite has one command that works and one that does nothing.
func suite(p *probe) commandline.Suite {
	walk := p.command()
	walk.Name, walk.Summary = "walk", "go some steps"
	return commandline.Suite{
		Name: "tour", Summary: "show commands", Example: "tour walk -steps 3", Notes: "a note",
		Commands: []commandline.Command{walk, {Name: "rest", Summary: "stay", Run: func(context.Context, commandline.Output) error { return nil }}},
	}
}

func callSuite(s commandline.Suite, args ...string) clitest.Outcome {
	command, rest := s.Choose(args)
	return clitest.Call(command, rest...)
}

func TestSuiteRunsTheNamedCommand(t *testing.T) {
	var p probe
	assert.Equal(t, clitest.Outcome{}, callSuite(suite(&p), "walk", "-steps", "9"))
	assert.Equal(t, probe{got: flags{Steps: 9, Rate: 0.5}, calls: 1}, p)
	assert.Equal(t, clitest.Outcome{}, callSuite(suite(&p), "rest"))
	assert.Equal(t, 1, p.calls)
}

func TestSuiteHelp(t *testing.T) {
	for _, ask := range []string{"-h", "--help", "-help", "help"} {
		assert.Equal(t, clitest.Outcome{Stdout: `Example:
  tour walk -steps 3

tour: show commands

Commands:
  walk  go some steps
  rest  stay

tour COMMAND -h shows a command's flags.

a note
`}, callSuite(suite(&probe{}), ask))
	}
	got := callSuite(suite(&probe{}), "walk", "-h")
	assert.Equal(t, commandline.ExitOK, got.Code)
	assert.Contains(t, got.Stdout, "\ntour walk: go some steps\n")
}

// TestHelpOfACommand: help before a command's name shows its help, also of a command of a command.
func TestHelpOfACommand(t *testing.T) {
	inner := suite(&probe{})
	outer := commandline.Suite{Name: "world", Suites: []commandline.Suite{inner}, Commands: inner.Commands}
	assert.Equal(t, callSuite(outer, "walk", "-h"), callSuite(outer, "help", "walk"))
	assert.Contains(t, callSuite(outer, "help", "walk").Stdout, "\nworld walk: go some steps\n")
	assert.Equal(t, callSuite(outer, "tour", "walk", "-h"), callSuite(outer, "help", "tour", "walk"))
	assert.Equal(t, callSuite(outer, "tour", "-h"), callSuite(outer, "help", "tour"))
	callSuite(outer, "help", "wakl").Refused(t, `unknown command "wakl"`)
}

func TestSuiteRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "error: want a command, got nothing (tour -h lists all commands)\n"},
		{[]string{"wlak"}, "error: unknown command \"wlak\"; did you mean walk? (tour -h lists all commands)\n"},
		{[]string{"fly"}, "error: unknown command \"fly\" (tour -h lists all commands)\n"},
		{[]string{"-steps", "3", "walk"}, "want a command before the flags, got \"-steps\""},
		{[]string{""}, "unknown command \"\""},
		{[]string{"walk", "-stesp", "3"}, "unknown flag -stesp; did you mean -steps? (tour walk -h lists all flags)"},
		{[]string{"walk", "rest"}, `want flags alone, got "rest"`},
	} {
		var p probe
		callSuite(suite(&p), c.args...).Refused(t, c.want)
		assert.Zero(t, p.calls)
	}
}

// TestSuiteOfSuites: a suite within another is chosen by its name, and examples of calls begin with
// the name of the outermost program.
func TestSuiteOfSuites(t *testing.T) {
	var p probe
	outer := commandline.Suite{Name: "house", Program: "house", Suites: []commandline.Suite{suite(&p)}}
	assert.Equal(t, clitest.Outcome{}, callSuite(outer, "tour", "walk", "-steps", "9"))
	assert.Equal(t, 9, p.got.Steps)
	assert.Contains(t, callSuite(outer, "-h").Stdout, "\n  tour  show commands\n")
	assert.Contains(t, callSuite(outer, "tour", "-h").Stdout, "Example:\n  house tour walk -steps 3\n\nhouse tour: show commands\n")
	assert.Contains(t, callSuite(outer, "tour", "walk", "-h").Stdout, "Example:\n  house probe -steps 3\n\nhouse tour walk: go some steps\n")
	remark := commandline.Command{Name: "probe", Program: "house", Example: "# three steps\n\t\tprobe -steps 3"}
	assert.Contains(t, clitest.Call(remark, "-h").Stdout, "Example:\n  # three steps\n  house probe -steps 3\n")
	callSuite(outer, "tuor").Refused(t, "did you mean tour? (house -h lists all commands)")
	callSuite(outer, "tour", "wa").Refused(t, `unknown command "wa"; did you mean walk? (house tour -h lists all commands)`)
	callSuite(outer, "walk").Refused(t, `unknown command "walk"; did you mean tour walk? (house -h lists all commands)`)
}

// TestCompletion: completion offers the commands, the commands of a suite, and the flags of the
// command that is named.
func TestCompletion(t *testing.T) {
	var p probe
	outer := commandline.Suite{Name: "house", Program: "house", Suites: []commandline.Suite{suite(&p)}, Commands: []commandline.Command{{Name: "tidy", Settings: &flags{}}}}
	for words, want := range map[string]string{
		"":              "tidy\ntour\n",
		"to":            "tour\n",
		"tour ":         "walk\nrest\n",
		"tour w":        "walk\n",
		"tidy -s":       "-steps\n-seed\n-set\n",
		"tour walk -te": "-text\n",
		"tour fly ":     "walk\nrest\n",
	} {
		got := callSuite(outer, append([]string{"__complete"}, strings.Split(words, " ")...)...)
		assert.Equal(t, clitest.Outcome{Stdout: want}, got, words)
	}
	assert.Contains(t, callSuite(outer, "completion").Stdout, "complete -o default -F _house house\n")
}
