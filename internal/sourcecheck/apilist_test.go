// Package sourcecheck tests the source itself: the order of imports that ARCHITECTURE.md shows,
// what packages export (api.txt), doc comments, and that code which depends on a residual stream
// asks the stream's design and does not branch on its name; what README.md and the pages of docs/
// say; and what a release consists of.
package sourcecheck

import (
	"bytes"
	"flag"
	"go/ast"
	"go/build"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const apiFile = "internal/sourcecheck/api.txt"

var update = flag.Bool("update", false, "write "+apiFile+" anew")

// TestAPI: api.txt has one line for each name that a package outside internal exports, so that a
// change of what other programs may use is seen in review.
func TestAPI(t *testing.T) {
	atRoot(t)
	var lines []string
	for _, dir := range publicPackages(t) {
		lines = append(lines, exportedBy(t, dir)...)
	}
	slices.Sort(lines)
	text := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile(apiFile, []byte(text), 0o644))
	}
	saved, err := os.ReadFile(apiFile)
	require.NoError(t, err)
	before := strings.Split(strings.TrimSpace(string(saved)), "\n")
	for _, line := range missing(lines, before) {
		t.Errorf("new: %s", line)
	}
	for _, line := range missing(before, lines) {
		t.Errorf("gone: %s", line)
	}
	if t.Failed() {
		t.Log("if the change is meant: go test ./internal/sourcecheck -update")
	}
}

// missing returns the lines that a sorted list does not have.
func missing(lines, sorted []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		_, found := slices.BinarySearch(sorted, line)
		return found
	})
}

// packages returns the folders of the packages that other modules can import.
func publicPackages(t *testing.T) []string {
	var dirs []string
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || path == "." {
			return err
		}
		_, module := os.Stat(filepath.Join(path, "go.mod"))
		if hidden := slices.Contains([]string{"internal", "testdata", "cmd", "examples", "notebooks"}, d.Name()); hidden || module == nil || strings.ContainsAny(d.Name()[:1], "._") {
			return fs.SkipDir
		}
		dirs = append(dirs, path)
		return nil
	}))
	return dirs
}

// exportedBy returns the lines of one package, as built on Linux with the tag parquet; none for a
// folder without Go.
func exportedBy(t *testing.T, dir string) []string {
	system := build.Default
	system.BuildTags = []string{"parquet"}
	system.GOOS, system.GOARCH, system.CgoEnabled = "linux", "amd64", false
	p, err := system.ImportDir(dir, 0)
	if _, none := err.(*build.NoGoError); none {
		return nil
	}
	require.NoError(t, err)
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	shown, err := doc.NewFromFiles(set, files, dir)
	require.NoError(t, err)
	l := lister{path: filepath.ToSlash(dir)}
	l.values("const", shown.Consts)
	l.values("var", shown.Vars)
	l.functions(shown.Funcs)
	for _, kind := range shown.Types {
		l.values("const", kind.Consts)
		l.values("var", kind.Vars)
		l.functions(kind.Funcs)
		l.functions(kind.Methods)
		for _, spec := range kind.Decl.Specs {
			l.kind(spec.(*ast.TypeSpec))
		}
	}
	return l.lines
}

// lister collects the lines of one package.
type lister struct {
	path  string
	lines []string
}

// add appends a line: the package, a word or nothing, a name and a piece of Go, all on one line.
func (l *lister) add(what string, node any) {
	var text bytes.Buffer
	if node != nil {
		if err := format.Node(&text, token.NewFileSet(), node); err != nil {
			panic(err)
		}
	}
	l.lines = append(l.lines, l.path+", "+strings.Join(strings.Fields(what+" "+text.String()), " "))
}

// values adds the exported names of constants or variables.
func (l *lister) values(word string, values []*doc.Value) {
	for _, v := range values {
		for _, name := range v.Names {
			if ast.IsExported(name) {
				l.add(word+" "+name, nil)
			}
		}
	}
}

// functions adds functions or methods with their signatures.
func (l *lister) functions(functions []*doc.Func) {
	for _, f := range functions {
		f.Decl.Doc, f.Decl.Body = nil, nil
		l.add("", f.Decl)
	}
}

// kind adds a type, and the fields of a struct or the methods of an interface.
func (l *lister) kind(spec *ast.TypeSpec) {
	name := spec.Name.Name
	switch kind := spec.Type.(type) {
	case *ast.StructType:
		l.add("type "+name+" struct", nil)
		l.members(name+" field", kind.Fields)
	case *ast.InterfaceType:
		l.add("type "+name+" interface", nil)
		l.members(name+" method", kind.Methods)
	default:
		l.add("type "+name, kind)
	}
}

// members adds fields or methods, one a line, and embedded types.
func (l *lister) members(of string, members *ast.FieldList) {
	for _, m := range members.List {
		for _, name := range m.Names {
			l.add(of+" "+name.Name, m.Type)
		}
		if len(m.Names) == 0 {
			l.add(of, m.Type)
		}
	}
}
