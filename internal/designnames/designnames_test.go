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

// remaining are the files that still name designs. The list may only get shorter: what they
// need of a stream is to come from its design, see stream.Design.
var remaining = []string{
	"cmd/bench/call.go",
	"cmd/bench/pytorch.go",
	"cmd/bench/stock.go",
	"cmd/bench/stockrun.go",
	"cmd/bench/workload.go",
	"cmd/bench/zoo.go",
	"cmd/compare/deck.go",
	"cmd/compare/family.go",
	"trainer/huggingface.go",
}

// TestOnlyTheListNamesDesigns: outside the list and a design's own file in package stream, no
// string literal is the name of a design, and nothing refers to the constants of their names,
// in no Go file of the module but tests and those that remain.
func TestOnlyTheListNamesDesigns(t *testing.T) {
	constants := constantsOf(t, filepath.Join(root, list))
	require.Len(t, constants, len(models.Streams()), "a constant in %s for each design", list)
	var naming []string
	for _, path := range sources(t) {
		if path == list {
			continue
		}
		if named := names(t, path, constants); len(named) > 0 {
			naming = append(naming, path)
			assert.Contains(t, remaining, path, "%s names %v: ask models.Config.Shape or Design instead", path, named)
		}
	}
	for _, path := range remaining {
		assert.Contains(t, naming, path, "%s names no design any more: remove it from this test's list", path)
	}
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

// constantsOf are a file's constants whose values are names of designs.
func constantsOf(t *testing.T, path string) []string {
	var constants []string
	ast.Inspect(parse(t, path), func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 && isDesign(spec.Values[0]) {
			constants = append(constants, spec.Names[0].Name)
		}
		return true
	})
	return constants
}

// names are the designs that a file names, as literals or by the constants; a file of package
// stream may have the name that a method Name in it returns.
func names(t *testing.T, path string, constants []string) []string {
	var found, own []string
	file := parse(t, filepath.Join(root, path))
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && n.Name.Name == "Name" && file.Name.Name == "stream" {
				own = append(own, returned(n)...)
			}
		case *ast.Field: // whose tag is a literal too
			n.Tag = nil
		case *ast.Ident:
			if slices.Contains(constants, n.Name) {
				found = append(found, n.Name)
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
	return err == nil && slices.Contains(models.Streams(), value)
}

func parse(t *testing.T, path string) *ast.File {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	return file
}
