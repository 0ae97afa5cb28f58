package main

import (
	"os"

	interp "github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/xreflect"
)

// newInterpreter returns an interpreter that knows packages by their tables alone. Left to
// itself, gomacro asks the go command, where there is one, to compile and describe each package:
// slow, other on other machines, and with warnings in the cell's output.
func newInterpreter() *interp.Interp {
	defer quiet()()
	ir := interp.New()
	ir.Comp.Universe.Importer = &xreflect.Importer{} // finds nothing
	return ir
}

// quiet drops what is written to stdout until the function that it returns is called: New warns
// of functions with type parameters.
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
