// Package commandline defines how every command behaves: what -h shows, how it answers a wrong
// call, which exit code an error gets, and what an interrupt does. A command is a Command; its main
// is os.Exit(commandline.Main(command(), os.Args[1:], os.Stdout, os.Stderr)).
package commandline

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/badsetting"
)

// Exit codes.
const (
	ExitOK    = 0 // success
	ExitRun   = 1 // the run failed
	ExitUsage = 2 // the call, the config or what they name is wrong
)

// Command is one program.
type Command struct {
	Name    string // its name in a call, after the program's name
	Program string // the program to which the command belongs; "": the command is a program itself
	Summary string // what it does, in one line
	Example string // calls that work, without the program's name, which -h shows first; leading tabs are dropped
	Notes   string // text that -h shows after the flags; leading tabs are dropped
	// Settings points to a struct whose tagged fields are the flags (package settings), or is
	// Several of these. A flag's default is the field's value, or else its tag default.
	Settings any
	// Unknown, if not nil, says what a flag that the command does not have is called here; "" if it
	// does not know.
	Unknown func(flag string) string
	// Run does the work. An error marked by Usage exits with ExitUsage, any other with
	// ExitRun. The context ends at the first interrupt; a second one kills the process.
	Run func(ctx context.Context, out Output) error
}

// Several are pointers to structs whose tagged fields together are the flags of one command.
type Several []any

// Main runs a command as the main program, handling interrupts, and returns its exit code.
func Main(c Command, args []string, stdout, stderr io.Writer) int {
	ctx, stop := withSignals(context.Background())
	defer stop()
	return Execute(ctx, c, args, Output{Stdout: stdout, Stderr: stderr})
}

// Execute runs a command inside this process and returns its exit code. It reports an error as one
// line on Stderr that begins with "error: "; only an internal error, a bug in the program, adds its
// stack.
func Execute(ctx context.Context, c Command, args []string, out Output) int {
	out.program = c.Program
	err := c.execute(ctx, args, out)
	if err == nil {
		return ExitOK
	}
	message := oneLine(err.Error())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		message = c.Name + ": interrupted"
	}
	fmt.Fprintf(out.Stderr, "error: %s\n", message)
	var internal *internalError
	if errors.As(err, &internal) {
		fmt.Fprintf(out.Stderr, "\n%s", internal.stack)
	}
	code, usage, ending := ExitRun, (*badsetting.CallError)(nil), (*endingError)(nil)
	if errors.As(err, &usage) {
		code = ExitUsage
	}
	if errors.As(err, &ending) {
		ending.end(code)
	}
	return code
}

func (c Command) execute(ctx context.Context, args []string, out Output) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &internalError{c.Name, r, debug.Stack()}
		}
	}()
	return c.run(ctx, args, out)
}
