// Package designnames holds that what depends on a residual stream asks its design, and does
// not branch on its name.
package designnames

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
)

const (
	root = "../.."
	// list is the one file that may name all designs.
	list = "models/zoo.go"
)

// TestOnlyTheListNamesDesigns: outside the list no string literal is the name of a stream's
// design, but in the method that returns it, and outside package stream nothing refers to the
// struct of one, in no Go file of the module but tests.
func TestOnlyTheListNamesDesigns(t *testing.T) {
	d := designsOf(models.Standard())
	for _, path := range sources(t) {
		if path != list {
			assert.Empty(t, d.in(parse(t, filepath.Join(root, path))), "%s names designs: ask models.Spec.Design or Shape, or the zoo", path)
		}
	}
}

// TestNamesAreFound: the test sees a name, a struct, and not what only looks like one.
func TestNamesAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", `package x
type c struct { Matrix int `+"`yaml:\"matrix\"`"+` }
func f() any { return stream.HyperConfig{N: len("mhc") + len("mhcs") + other.HyperConfig} }
func (c) Name() string { return "vector" }`, parser.SkipObjectResolution)
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"stream.HyperConfig", `"mhc"`, `"vector"`}, designsOf(models.Standard()).in(file))
	file.Name.Name = streams
	assert.ElementsMatch(t, []string{"stream.HyperConfig", `"mhc"`}, designsOf(models.Standard()).in(file))
}

// sources are the module's Go files but tests, as slash-separated paths from its root.
func sources(t *testing.T) []string {
	var paths []string
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if name == "testdata" || name == "shared" || name == "build" || strings.HasPrefix(name, ".") && name != ".." || isModule(path) {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			relative, err := filepath.Rel(root, path)
			paths = append(paths, filepath.ToSlash(relative))
			return err
		}
		return nil
	}))
	require.Contains(t, paths, list)
	return paths
}

// isModule tells whether a folder below the root is a module of its own.
func isModule(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, "go.mod"))
	return err == nil && filepath.Clean(folder) != filepath.Clean(root)
}

// streams is the package of designs.
const streams = "stream"

// designs are the names of streams' designs and of their structs.
type designs struct{ names, structs []string }

func designsOf(zoo models.Zoo) designs {
	d := designs{names: zoo.StreamNames()}
	for _, s := range zoo.Streams() {
		d.structs = append(d.structs, reflect.TypeOf(s).Name())
	}
	return d
}

// in are the designs that a file names, as literals or by their structs; a file of package
// stream may have the name that a method Name in it returns.
func (d designs) in(file *ast.File) []string {
	var found, own []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "Name" && file.Name.Name == streams {
				own = append(own, d.returned(n)...)
			}
		case *ast.Field: // whose tag is a literal too
			n.Tag = nil
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == streams && slices.Contains(d.structs, n.Sel.Name) {
				found = append(found, streams+"."+n.Sel.Name)
			}
		case ast.Expr:
			if d.isName(n) {
				found = append(found, n.(*ast.BasicLit).Value)
			}
		}
		return true
	})
	return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(own, name) })
}

// returned are the names of designs that a function returns.
func (d designs) returned(f *ast.FuncDecl) []string {
	var literals []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 && d.isName(r.Results[0]) {
			literals = append(literals, r.Results[0].(*ast.BasicLit).Value)
		}
		return true
	})
	return literals
}

// isName tells whether an expression is a string literal that is the name of a design.
func (d designs) isName(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return false
	}
	value, err := strconv.Unquote(literal.Value)
	return err == nil && slices.Contains(d.names, value)
}

func parse(t *testing.T, path string) *ast.File {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
