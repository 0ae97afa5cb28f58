package commandline

import "fmt"

// reportTo is where to report a bug.
const reportTo = "https://github.com/residua-go/residua/issues"

// internalError reports a panic in a command: a bug in the program.
type internalError struct {
	command string
	value   any    // value of the panic
	stack   []byte // where it happened
}

func (e *internalError) Error() string {
	return fmt.Sprintf("%s: internal error: %v: a bug of the program; please report it, with the lines below and the command that you ran, at %s", e.command,
		e.value, reportTo)
}
