package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pkg/errors"
)

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	Dir, ImportPath, Name              string
	GoFiles, TestGoFiles, XTestGoFiles []string // of these build tags; tests in the package itself, and in PACKAGE_test
	Module                             struct{ Dir string }
}

// list looks packages up.
func list(tags string, patterns []string) ([]goPackage, error) {
	out, err := goTool(append([]string{"list", "-tags=" + tags, "-json=Dir,ImportPath,Name,GoFiles,TestGoFiles,XTestGoFiles,Module"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); err == io.EOF {
			return packages, nil
		} else if err != nil {
			return nil, errors.WithStack(err)
		}
		packages = append(packages, p)
	}
}

// tests lists the test functions of Go files, TestMain among them.
func tests(dir string, files []string) ([]string, error) {
	var names []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, errors.WithStack(err)
		}
		for _, d := range parsed.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && isTest(f.Name.Name) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names, nil
}

// isTest tells whether go test takes a function of this name for a test.
func isTest(name string) bool {
	rest, is := strings.CutPrefix(name, "Test")
	first, _ := utf8.DecodeRuneInString(rest)
	return is && !unicode.IsLower(first)
}
