package kernel

import (
	"fmt"
	"go/constant"
	"go/format"
	"go/types"
	"slices"
	"strings"

	"github.com/pkg/errors"
)

// table is what gomacro's interpreter needs to know of a package: its names with, by reflection,
// their values and types. The lists hold lines of Go source.
type table struct {
	path, name string
	function   string   // that returns the table
	binds      []string // constants, variables and functions
	types      []string
	untypeds   []string // untyped constants, with all their digits
	wrappers   []string // methods that a struct has from an embedded field
}

// newTable lists what a package exports. Left out is what the interpreter cannot call: functions
// and types with type parameters.
func newTable(p *types.Package) table {
	t := table{path: p.Path(), name: p.Name(), function: "of_" + identifier(p.Path())}
	for _, name := range p.Scope().Names() { // sorted
		if object := p.Scope().Lookup(name); object.Exported() {
			t.add(name, object)
		}
	}
	return t
}

// file is the name of the Go file; no ending of the path, such as test or linux, means anything
// there.
func (t *table) file() string { return t.function + "_table.go" }

// empty tells that nothing can be used.
func (t *table) empty() bool { return len(t.binds)+len(t.types) == 0 }

func (t *table) add(name string, object types.Object) {
	switch o := object.(type) {
	case *types.Const:
		t.addConstant(name, o)
	case *types.Var:
		t.binds = append(t.binds, fmt.Sprintf("%q: reflect.ValueOf(&p.%s).Elem(),", name, name))
	case *types.Func:
		if o.Signature().TypeParams().Len() == 0 {
			t.binds = append(t.binds, fmt.Sprintf("%q: reflect.ValueOf(p.%s),", name, name))
		}
	case *types.TypeName:
		if hasValues(o.Type()) {
			t.types = append(t.types, fmt.Sprintf("%q: reflect.TypeFor[p.%s](),", name, name))
			t.addWrappers(name, o.Type())
		}
	}
}

// addConstant adds a typed constant by its value. An untyped one may not fit any type: the
// interpreter takes its digits, and of its value only that there is one.
func (t *table) addConstant(name string, c *types.Const) {
	digits := untypedDigits(c)
	if digits == "" {
		t.binds = append(t.binds, fmt.Sprintf("%q: reflect.ValueOf(p.%s),", name, name))
		return
	}
	t.binds = append(t.binds, fmt.Sprintf("%q: {},", name))
	t.untypeds = append(t.untypeds, fmt.Sprintf("%q: %q,", name, digits))
}

// untypedDigits writes an untyped constant in gomacro's form, kind:value; it is "" for others.
func untypedDigits(c *types.Const) string {
	basic, ok := c.Type().(*types.Basic)
	if !ok {
		return ""
	}
	value := c.Val()
	switch basic.Kind() {
	case types.UntypedBool:
		return fmt.Sprintf("bool:%t", constant.BoolVal(value))
	case types.UntypedInt:
		return "int:" + constant.ToInt(value).ExactString()
	case types.UntypedRune:
		return "rune:" + constant.ToInt(value).ExactString()
	case types.UntypedFloat:
		return "float:" + value.ExactString()
	case types.UntypedComplex:
		return "complex:" + constant.Real(value).ExactString() + ":" + constant.Imag(value).ExactString()
	case types.UntypedString:
		return "string:" + constant.StringVal(value)
	}
	return ""
}

// hasValues tells whether variables may have a type: neither type parameters nor a constraint.
func hasValues(t types.Type) bool {
	if generic, ok := t.(interface {
		TypeParams() *types.TypeParamList
		TypeArgs() *types.TypeList
	}); ok && generic.TypeParams().Len() > generic.TypeArgs().Len() {
		return false
	}
	constraint, ok := t.Underlying().(*types.Interface)
	return !ok || constraint.IsMethodSet()
}

// addWrappers tells the interpreter which of a struct's methods are those of embedded fields:
// reflection does not.
func (t *table) addWrappers(name string, typ types.Type) {
	named, ok := types.Unalias(typ).(*types.Named)
	if !ok {
		return
	}
	if _, ok := named.Underlying().(*types.Struct); !ok {
		return
	}
	var promoted []string
	methods := types.NewMethodSet(types.NewPointer(named))
	for i := range methods.Len() {
		if m := methods.At(i); m.Obj().Exported() && len(m.Index()) > 1 {
			promoted = append(promoted, fmt.Sprintf("%q", m.Obj().Name()))
		}
	}
	if len(promoted) > 0 {
		slices.Sort(promoted)
		t.wrappers = append(t.wrappers, fmt.Sprintf("%q: {%s},", name, strings.Join(promoted, ", ")))
	}
}

// source is a Go file with the function that returns the table.
func (t *table) source() ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "// Code generated for package %s. DO NOT EDIT.\n\npackage main\n\n", t.path)
	fmt.Fprintf(&b, "import (\n\"reflect\"\n\n\"github.com/cosmos72/gomacro/imports\"\n\np %q\n)\n\n", t.path)
	fmt.Fprintf(&b, "func %s() imports.Package {\nreturn imports.Package{\nName: %q,\n", t.function, t.name)
	for _, field := range []struct {
		name  string
		lines []string
	}{
		{"Binds: map[string]reflect.Value", t.binds},
		{"Types: map[string]reflect.Type", t.types},
		{"Untypeds: map[string]string", t.untypeds},
		{"Wrappers: map[string][]string", t.wrappers},
	} {
		fmt.Fprintf(&b, "%s{\n%s\n},\n", field.name, strings.Join(field.lines, "\n"))
	}
	b.WriteString("}\n}\n\nvar _ reflect.Value\n")
	text, err := format.Source([]byte(b.String()))
	return text, errors.Wrapf(err, "notebook kernel: table of %s", t.path)
}

// indexSource is a Go file with the function that returns all tables.
func indexSource(tables []table) ([]byte, error) {
	var b strings.Builder
	b.WriteString("// Code generated. DO NOT EDIT.\n\npackage main\n\nimport \"github.com/cosmos72/gomacro/imports\"\n\n")
	b.WriteString("func tables() map[string]imports.Package {\nreturn map[string]imports.Package{\n")
	for _, t := range tables {
		fmt.Fprintf(&b, "%q: %s(),\n", t.path, t.function)
	}
	b.WriteString("}\n}\n")
	text, err := format.Source([]byte(b.String()))
	return text, errors.Wrap(err, "notebook kernel: tables")
}

// identifier makes a part of a Go name of an import path.
func identifier(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, path)
}
