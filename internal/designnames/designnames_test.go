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
	"github.com/residua-go/residua/stream"
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
	for _, path := range sources(t) {
		if path != list {
			assert.Empty(t, names(parse(t, filepath.Join(root, path))), "%s names designs: ask models.Spec.Design or Shape, or the zoo", path)
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
	assert.ElementsMatch(t, []string{"stream.HyperConfig", `"mhc"`, `"vector"`}, names(file))
	file.Name.Name = streams
	assert.ElementsMatch(t, []string{"stream.HyperConfig", `"mhc"`}, names(file))
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
			if name == "testdata" || name == "shared" || strings.HasPrefix(name, ".") && name != ".." || isModule(path) {
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

// names are the designs that a file names, as literals or by their structs; a file of package
// stream may have the name that a method Name in it returns.
func names(file *ast.File) []string {
	var found, own []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "Name" && file.Name.Name == streams {
				own = append(own, returned(n)...)
			}
		case *ast.Field: // whose tag is a literal too
			n.Tag = nil
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == streams && isStruct(n.Sel.Name) {
				found = append(found, streams+"."+n.Sel.Name)
			}
		case ast.Expr:
			if isDesign(n) {
				found = append(found, n.(*ast.BasicLit).Value)
			}
		}
		return true
	})
	return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(own, name) })
}

// isStruct tells whether a name of package stream is that of a design's struct.
func isStruct(name string) bool {
	return slices.ContainsFunc(models.Standard().Streams(), func(d stream.Design) bool { return reflect.TypeOf(d).Name() == name })
}

// returned are the names of designs that a function returns.
func returned(f *ast.FuncDecl) []string {
	var literals []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.ReturnStmt); ok && len(r.Results) == 1 && isDesign(r.Results[0]) {
			literals = append(literals, r.Results[0].(*ast.BasicLit).Value)
		}
		return true
	})
	return literals
}

// isDesign tells whether an expression is a string literal that is the name of a design.
func isDesign(e ast.Expr) bool {
	literal, ok := e.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return false
	}
	value, err := strconv.Unquote(literal.Value)
	return err == nil && slices.Contains(models.Standard().StreamNames(), value)
}

func parse(t *testing.T, path string) *ast.File {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
