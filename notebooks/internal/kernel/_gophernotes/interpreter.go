package main

import (
	"os"

	interp "github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/xreflect"
)

// newInterpreter returns an interpreter that knows packages only by their tables. By default
// gomacro asks the go command, if there is one, to compile and describe each package, which is
// slow, differs between machines, and prints warnings into the cell's output.
func newInterpreter() *interp.Interp {
	defer quiet()()
	ir := interp.New()
	ir.Comp.Universe.Importer = &xreflect.Importer{} // finds nothing
	return ir
}

// quiet drops everything written to stdout until the returned function is called: New warns about
// functions with type parameters.
func quiet() (restore func()) {
	stdout := os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	os.Stdout = null
	return func() {
		os.Stdout = stdout
		null.Close()
	}
}
