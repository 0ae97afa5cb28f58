package main

import (
	"fmt"
	"io"

	interp "github.com/cosmos72/gomacro/fast"
)

// tryImport imports a package into an interpreter of its own.
func tryImport(path string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	_, err = quietInterpreter().ImportPackagesOrError(map[string]interp.PackageName{path: ""})
	return err
}

func quietInterpreter() *interp.Interp {
	ir := newInterpreter()
	ir.Comp.Stdout, ir.Comp.Stderr = io.Discard, io.Discard
	return ir
}

// trial is a cell and what it must come to: what is shown, or "fails: " and the error.
type trial struct{ cell, want string }

// trials are one for each change that patches make.
func trials() []trial {
	return []trial{
		{"1 + 2", "3"},
		{"import \"none/such\"", `fails: cell 0, line 1: import "none/such": this kernel was built without it; add a line to notebooks/internal/kernel/packages.go and build the kernel again`},
		{"import \"errors\"\nerrors.New(\"no\")", "fails: cell 0, line 2: no"},
		{"import \"strconv\"\nstrconv.Atoi(\"3\")", "3"},
		{"import \"strconv\"\nstrconv.Atoi(\"\")", `fails: cell 0, line 2: strconv.Atoi: parsing "": invalid syntax`},
		{"import (\"fmt\"; \"io\")\nfmt.Fprintln(io.Discard, 3)", ""},
		{"import \"math\"\nmath.MaxUint64 / 2.0", "9.223372036854776e+18"},
		{"import \"gorgonia.org/gorgonia\"\ng := gorgonia.NewGraph()\nnodes := gorgonia.Nodes{gorgonia.NewScalar(g, gorgonia.Float64, gorgonia.WithName(\"x\"))}\n" +
			"grads, err := gorgonia.Grad(gorgonia.Must(gorgonia.Square(nodes[0])), nodes...)\nlen(grads)", "1"},
		{"import \"gorgonia.org/gorgonia\"\nnodes := map[string][]*gorgonia.Node{\"a\": []*gorgonia.Node{nil}}\nlen(append(nodes[\"a\"], nil))", "2"},
	}
}

// run runs the cell in an interpreter of its own.
func (c trial) run() string {
	values, _, err := doEval(newSession(quietInterpreter()), OutErr{}, c.cell)
	if err != nil {
		return "fails: " + err.Error()
	}
	return fmt.Sprint(values...)
}
