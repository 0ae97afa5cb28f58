package genimport

import (
	"bytes"
	"go/types"
	"io"

	"github.com/cosmos72/gomacro/base/output"
)

// WriteTable writes what a package exports as fields of an imports.Package, in Go code that
// imports the package by the given name. It leaves out what has type parameters.
func WriteTable(out *bytes.Buffer, p *types.Package, name string) {
	gen := &genimport{
		output: &output.Output{Stderr: io.Discard}, // it reports what is left out
		path:   p.Path(), scope: p.Scope(), names: p.Scope().Names(),
		out: out, name_: name + ".", reflect: "reflect.",
	}
	gen.writeBinds()
	gen.writeTypes()
	gen.writeUntypeds()
	gen.writeWrappers()
}
