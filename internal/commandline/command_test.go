package commandline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
)

// probe is a command with a flag of every type; it records what it was called with.
type probe struct {
	got   flags // at the last call
	calls int
	err   error
	run   func(ctx context.Context, out commandline.Output) error
}

type flags struct {
	Text  string   `yaml:"text" help:"print <TEXT>"`
	Steps int      `yaml:"steps" default:"5" help:"go <N> steps"`
	Seed  uint64   `yaml:"seed" help:"seed with <N>"`
	Rate  float64  `yaml:"rate" default:"0.5" help:"go at <R>"`
	JSON  bool     `yaml:"json" help:"write JSON"`
	Sets  []string `yaml:"set" help:"override <KEY=VALUE>; may be repeated"`
}

func (p *probe) command() commandline.Command {
	given := &flags{}
	return commandline.Command{
		Name: "probe", Summary: "show flags", Example: "probe -steps 3", Notes: "a note",
		Settings: given,
		Run: func(ctx context.Context, out commandline.Output) error {
			p.calls++
			p.got = *given
			if p.run != nil {
				return p.run(ctx, out)
			}
			return p.err
		},
	}
}

func TestFlagsAreRead(t *testing.T) {
	var p probe
	got := clitest.Call(p.command(), "-text", "-x y", "--steps=7", "-seed", "9", "-rate", "1e-3", "-json", "-set", "a=1", "-set=b=2", "-json=true")
	assert.Equal(t, clitest.Outcome{}, got)
	assert.Equal(t, probe{got: flags{"-x y", 7, 9, 1e-3, true, []string{"a=1", "b=2"}}, calls: 1}, p)
}

// TestEndingWith: once the error is printed, the function that ends the process gets the exit code.
func TestEndingWith(t *testing.T) {
	for want, err := range map[int]error{commandline.ExitRun: errors.New("broken"), commandline.ExitUsage: commandline.Usage(errors.New("broken"))} {
		var stderr bytes.Buffer
		code, printed := -1, ""
		p := probe{err: commandline.EndingWith(err, func(c int) { code, printed = c, stderr.String() })}
		require.Equal(t, want, commandline.Execute(context.Background(), p.command(), nil, commandline.Output{Stdout: &stderr, Stderr: &stderr}))
		assert.Equal(t, want, code)
		assert.Equal(t, "error: broken\n", printed)
	}
}

func TestHelpBeginsWithAnExample(t *testing.T) {
	for _, ask := range [][]string{{"-h"}, {"--help"}, {"-steps", "3", "-h"}} {
		var p probe
		got := clitest.Call(p.command(), ask...)
		assert.Equal(t, commandline.ExitOK, got.Code)
		assert.Empty(t, got.Stderr)
		assert.Zero(t, p.calls)
		assert.Equal(t, `Example:
  probe -steps 3

probe: show flags

Flags:
  -text TEXT      print TEXT
  -steps N        go N steps (default 5)
  -seed N         seed with N
  -rate R         go at R (default 0.5)
  -json           write JSON
  -set KEY=VALUE  override KEY=VALUE; may be repeated
  -h              show this

a note
`, got.Stdout)
	}
}

func TestWrongCallsAreRefused(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-stesp", "3"}, "error: unknown flag -stesp; did you mean -steps? (probe -h lists all flags)\n"},
		{[]string{"-frobnicate"}, "error: unknown flag -frobnicate (probe -h lists all flags)\n"},
		{[]string{"-json", "stray"}, `error: want flags alone, got "stray"; put quotes around a value with spaces`},
		{[]string{"-text", "two", "words"}, `want flags alone, got "words"`},
		{[]string{"-"}, `want flags alone, got "-"`},
		{[]string{"--"}, `want flags alone, got "--"`},
		{[]string{""}, `want flags alone, got ""`},
		{[]string{"-steps"}, "-steps: want N after it, got nothing"},
		{[]string{"-steps", "many"}, `-steps: want an integer, got "many"`},
		{[]string{"-steps", "1.5"}, `-steps: want an integer, got 1.5`},
		{[]string{"-seed", "-1"}, `-seed: want an integer >= 0, got -1`},
		{[]string{"-rate", "fast"}, `-rate: want a number, got "fast"`},
		{[]string{"-json=perhaps"}, `-json: want true or false, got "perhaps"`},
		{[]string{"-set", ""}, "-set: want a value, got an empty one"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			var p probe
			clitest.Call(p.command(), c.args...).Refused(t, c.want)
			assert.Zero(t, p.calls)
		})
	}
}

// TestOperands: a command with operands takes them before, between and after its flags, and shows
// them with -h; commands without operands refuse them.
func TestOperands(t *testing.T) {
	var p probe
	c := p.command()
	operands := &struct {
		Files []string `yaml:"files" arg:"FILE..." help:"read these"`
	}{}
	c.Settings = commandline.Several{c.Settings, operands}
	var files []string
	p.run = func(context.Context, commandline.Output) error { files = operands.Files; return nil }
	assert.Equal(t, clitest.Outcome{}, clitest.Call(c, "a", "-steps", "3", "b c", "-json", "d=-e"))
	assert.Equal(t, []string{"a", "b c", "d=-e"}, files)
	assert.Equal(t, 3, p.got.Steps)
	assert.True(t, p.got.JSON)
	assert.Contains(t, clitest.Call(c, "-h").Stdout, "\nprobe: show flags\n\nArguments:\n  FILE...  read these\n\nFlags:\n")
	clitest.Call(c, "a", "--").Refused(t, `want flags and FILE..., got "--"`)
	clitest.Call(c, "").Refused(t, `want flags and FILE..., got ""`)
	clitest.Call(c, "-stesp=3", "a").Refused(t, "did you mean -steps?")
}

// TestArgumentOfAFlag: a flag may take an argument without a dash, one alone unless it is a list.
func TestArgumentOfAFlag(t *testing.T) {
	var p probe
	c, got := p.command(), ""
	from := &struct {
		Path string `yaml:"from" alone:"[PATH]" help:"read <PATH>"`
	}{}
	c.Settings = commandline.Several{c.Settings, from}
	p.run = func(context.Context, commandline.Output) error { got = from.Path; return nil }
	for _, args := range [][]string{{"a b", "-steps", "3"}, {"-steps", "3", "a b"}, {"-from", "a b", "-steps", "3"}} {
		got = ""
		assert.Equal(t, clitest.Outcome{}, clitest.Call(c, args...))
		assert.Equal(t, "a b", got)
	}
	for _, args := range [][]string{{"a", "b"}, {"a", "-from", "b"}, {"-from", "a", "b"}} {
		clitest.Call(c, args...).Refused(t, `want one [PATH], got "b", too`)
	}
	assert.Contains(t, clitest.Call(c, "-h").Stdout, "\nArguments:\n  [PATH]  the same as -from\n\nFlags:\n")

	several := &struct {
		Paths []string `yaml:"from" alone:"[PATH...]" help:"read <PATH>"`
	}{}
	c.Settings = several
	var all []string
	p.run = func(context.Context, commandline.Output) error { all = several.Paths; return nil }
	assert.Equal(t, clitest.Outcome{}, clitest.Call(c, "a", "-from", "b", "c"))
	assert.Equal(t, []string{"a", "b", "c"}, all)
}

func TestExitCodes(t *testing.T) {
	interrupted, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		err    error
		code   int
		stderr string
	}{
		{"done", context.Background(), nil, commandline.ExitOK, ""},
		{"failed", context.Background(), errors.New("disk full"), commandline.ExitRun, "error: disk full\n"},
		{"wrong", context.Background(), commandline.Usagef("-n: want %d", 3), commandline.ExitUsage, "error: -n: want 3\n"},
		{"several lines", context.Background(), errors.New("a\n\n  b\n"), commandline.ExitRun, "error: a; b\n"},
		{"interrupted", interrupted, context.Canceled, commandline.ExitRun, "error: probe: interrupted\n"},
		{"interrupted while loading", interrupted, commandline.Usage(context.Canceled), commandline.ExitRun, "error: probe: interrupted\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := probe{err: c.err}
			assert.Equal(t, clitest.Outcome{Code: c.code, Stderr: c.stderr}, clitest.CallWith(c.ctx, p.command()))
		})
	}
	assert.NoError(t, commandline.Usage(nil))
}

// TestPanicShowsItsStack: the first line of an internal error says what happened, the next where to
// report it, then the stack follows.
func TestPanicShowsItsStack(t *testing.T) {
	p := probe{run: func(context.Context, commandline.Output) error {
		var nothing []int
		_ = nothing[3]
		return nil
	}}
	got := clitest.Call(p.command())
	assert.Equal(t, commandline.ExitRun, got.Code)
	assert.Empty(t, got.Stdout)
	first, stack, _ := strings.Cut(got.Stderr, "\n")
	assert.True(t, strings.HasPrefix(first, "error: probe: internal error: runtime error: index out of range [3] with length 0: "), first)
	assert.Contains(t, first, "github.com/residua-go/residua/issues")
	assert.Contains(t, stack, "command_test.go:", "the line that panicked")
}

// TestControlCharactersAreShown: control characters in a message or a result do not reach a
// terminal. Where no terminal reads it, a model's text stays as it is.
func TestControlCharactersAreShown(t *testing.T) {
	p := probe{run: func(_ context.Context, out commandline.Output) error {
		out.Warn("file \x1b[2Ja")
		out.Note("file \x9bb")
		assert.NoError(t, out.Print("files:\n\ta  \x1b[2Ja\n\u009b2J \x9b\r\n"))
		assert.NoError(t, out.PrintJSON("\x1b[2J \u009b2J \x7f é"))
		assert.NoError(t, out.PrintText("\x1b[2J\x9b"))
		return errors.New("file \x1b]0;c\a: not there\r")
	}}
	got := clitest.Call(p.command())
	assert.Equal(t, "files:\n\ta  "+`\u001B[2Ja`+"\n"+`\u009B2J \x9B\r`+"\n"+`"\u001b[2J \u009B2J \u007F é"`+"\n\x1b[2J\x9b", got.Stdout)
	assert.Equal(t, `warning: file \u001B[2Ja`+"\n"+`note: file \x9Bb`+"\n"+`error: file \u001B]0;c\u0007: not there`+"\n", got.Stderr)
}

func TestResultsAndMessagesGoApart(t *testing.T) {
	p := probe{run: func(_ context.Context, out commandline.Output) error {
		out.Warn("two\nlines")
		out.Note("news")
		if err := out.PrintJSON(map[string]int{"a": 1}); err != nil {
			return err
		}
		return out.Print("text\n")
	}}
	assert.Equal(t, clitest.Outcome{Stdout: "{\"a\":1}\ntext\n", Stderr: "warning: two; lines\nnote: news\n"}, clitest.Call(p.command()))
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestFailedWriteFailsTheRun(t *testing.T) {
	p := probe{run: func(_ context.Context, out commandline.Output) error { return out.Print("text") }}
	var stderr bytes.Buffer
	assert.Equal(t, commandline.ExitRun, commandline.Execute(context.Background(), p.command(), nil, commandline.Output{Stdout: brokenPipe{}, Stderr: &stderr}))
	assert.Equal(t, "error: cannot write the result: broken pipe\n", stderr.String())
}

// TestMainHearsAnInterrupt sends this process a signal, which must end the command's context.
func TestMainHearsAnInterrupt(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot send itself a signal on Windows")
	}
	p := probe{run: func(ctx context.Context, _ commandline.Output) error {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := self.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	var stdout, stderr bytes.Buffer
	assert.Equal(t, commandline.ExitRun, commandline.Main(p.command(), nil, &stdout, &stderr))
	assert.Equal(t, "error: probe: interrupted\n", stderr.String())
}

// TestGroupsOfFlags: groups of flags come after the other flags, under their headings, in the given
// order.
func TestGroupsOfFlags(t *testing.T) {
	c := commandline.Command{Name: "x", Settings: &struct {
		Long int `yaml:"long" group:"Others" help:"third <N>"`
		B    int `yaml:"b" help:"second <N>"`
		A    int `yaml:"a" group:"Others" help:"first <N>"`
	}{}}
	got := clitest.Call(c, "-h")
	assert.Contains(t, got.Stdout, "Flags:\n  -b N     second N\n  -h       show this\n\nOthers:\n  -long N  third N\n  -a N     first N\n")
}
