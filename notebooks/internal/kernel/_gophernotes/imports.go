package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strconv"

	"github.com/cosmos72/gomacro/imports"
)

// refuseMissingImports panics, which makes the cell fail, if a cell imports a package that this
// kernel has no table of. Otherwise gomacro would fetch the package and compile it outside the
// build folder.
func refuseMissingImports(nodes []ast.Node) {
	for _, node := range nodes {
		declaration, ok := node.(*ast.GenDecl)
		if !ok || declaration.Tok != token.IMPORT {
			continue
		}
		for _, spec := range declaration.Specs {
			path, _ := strconv.Unquote(spec.(*ast.ImportSpec).Path.Value)
			if _, there := imports.Packages[path]; !there {
				panic(fmt.Errorf("import %q: this kernel was built without it; add a line to notebooks/internal/kernel/packages.txt and build the kernel again", path))
			}
		}
	}
}
