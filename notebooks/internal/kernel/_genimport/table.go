package genimport

import (
	"bytes"
	"go/types"
	"io"

	"github.com/cosmos72/gomacro/base/output"
)

// WriteTable writes the exports of a package as the fields of an imports.Package, in Go code that
// imports the package under the given name. It leaves out everything with type parameters.
func WriteTable(out *bytes.Buffer, p *types.Package, name string) {
	gen := &genimport{
		output: &output.Output{Stderr: io.Discard}, // what is left out
		path:   p.Path(), scope: p.Scope(), names: p.Scope().Names(),
		out: out, name_: name + ".", reflect: "reflect.",
	}
	gen.writeBinds()
	gen.writeTypes()
	gen.writeUntypeds()
	gen.writeWrappers()
}
