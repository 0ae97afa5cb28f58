package cli

import "fmt"

// reportTo is where a person tells of a bug.
const reportTo = "https://github.com/residua-go/residua/issues"

// internalError is a panic of a command: a bug of the program.
type internalError struct {
	command string
	value   any    // of the panic
	stack   []byte // where it happened
}

func (e *internalError) Error() string {
	return fmt.Sprintf("%s: internal error: %v: a bug of the program; please report it, with the lines below and the command that you ran, at %s", e.command, e.value, reportTo)
}
