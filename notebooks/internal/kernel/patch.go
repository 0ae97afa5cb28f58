package kernel

import (
	"strings"

	"github.com/pkg/errors"
)

// patch is one change of a file: the text old, which stands there exactly once, becomes new.
type patch struct {
	file, old, new string
	why            string
}

// gophernotesPatches make gophernotes start on Go 1.26 and behave in notebooks that are checked.
// The functions that they call stand in _overlay.
func gophernotesPatches() []patch {
	return []patch{
		{"x_package.go", "JSON_  func(interface{}) string", "JSON_  func(interface{}) map[string]interface{}",
			"gomacro refuses a proxy whose methods are not the interface's"},
		{"x_package.go", "func (P *proxy_JSONer) JSON() string {", "func (P *proxy_JSONer) JSON() map[string]interface{} {",
			"the same"},
		{"kernel.go", "\tir := interp.New()\n", "\tir := newInterpreter()\n",
			"gomacro would ask the go command for packages that it has tables of"},
		{"kernel.go", "\tnodes := compiler.ParseBytes([]byte(code))\n", "\tnodes := compiler.ParseBytes([]byte(code))\n\trefuseMissingImports(nodes)\n",
			"gomacro would fetch and compile other packages outside of the build folder"},
		{"kernel.go", "\t\t\treturn values, types, nil\n", "\t\t\treturn settleResults(nodes, values, types)\n",
			"a cell whose last expression returns an error fails; what fmt.Println returns is not shown"},
		{"main.go", "\trunKernel(flag.Arg(0))\n", "\tstart(flag.Arg(0))\n",
			"the argument check tries out tables and patches"},
	}
}

// gomacroPatches let interpreted code use compiled types that refer to themselves, such as
// []*gorgonia.Node: while it describes Node, gomacro takes pointers to it, slices and maps of it
// for unknown (xreflect.Forward), though reflection knows them exactly.
func gomacroPatches() []patch {
	const file, why = "xreflect/fromreflect.go", "compiled types that refer to themselves"
	const cleaned = "\tif true || v.rebuild() { // rtype may be named... clean it\n"
	return []patch{
		{file, cleaned + "\t\trtype = r.SliceOf(e.approxReflectType())\n\t}\n\treturn v.maketype(types.NewSlice(e.gtype), rtype, e.option)\n",
			"\tif v.rebuild() {\n\t\trtype = r.SliceOf(e.approxReflectType())\n\t} else {\n\t\trtype = r.SliceOf(rtype.Elem())\n\t}\n" +
				"\treturn v.maketype(types.NewSlice(e.gtype), rtype, e.option&^OptIncomplete)\n", why},
		{file, cleaned + "\t\trtype = r.MapOf(k.approxReflectType(), e.approxReflectType())\n\t}\n",
			"\tif v.rebuild() {\n\t\trtype = r.MapOf(k.approxReflectType(), e.approxReflectType())\n\t} else {\n\t\trtype = r.MapOf(rtype.Key(), rtype.Elem())\n\t}\n", why},
		{file, "\t\tk.option|e.option)\n", "\t\t(k.option|e.option)&^OptIncomplete)\n", why},
		{file, "\t\topt = e.option\n", "\t\topt = e.option &^ OptIncomplete\n", why},
	}
}

// applyPatches changes files in place.
func applyPatches(files map[string]string, patches []patch) error {
	for _, p := range patches {
		text, there := files[p.file]
		if !there {
			return errors.Errorf("no file %s; adapt notebooks/internal/kernel/patch.go", p.file)
		}
		if n := strings.Count(text, p.old); n != 1 {
			return errors.Errorf("%s: want %q once, found it %d times; adapt notebooks/internal/kernel/patch.go (%s)", p.file, strings.TrimSpace(p.old), n, p.why)
		}
		files[p.file] = strings.Replace(text, p.old, p.new, 1)
	}
	return nil
}
