// Command tables writes tables.go, which lets the interpreter import the packages that the
// arguments name: their names with, by reflection, their values and types.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"

	"github.com/cosmos72/gomacro/base/genimport"
	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports}, os.Args[1:]...)
	if err != nil {
		log.Fatal(err)
	}
	var imports, tables bytes.Buffer
	for i, p := range loaded {
		if len(p.Errors) > 0 {
			log.Fatalf("package %s: %v", p.PkgPath, p.Errors[0])
		}
		name := fmt.Sprintf("p%d", i)
		fmt.Fprintf(&imports, "%s %q\n", name, p.PkgPath)
		// If the interpreter already has a table of the package, keep its proxies: they say
		// which interfaces interpreted types can implement.
		fmt.Fprintf(&tables, "\nfunc init() {\nimports.Packages.MergePackage(%[1]q, imports.PackageUnderlying{\nName: %[2]q, Proxies: "+
			"maps.Clone(imports.Packages[%[1]q].Proxies),\n", p.PkgPath, p.Name)
		genimport.WriteTable(&tables, p.Types, name)
		tables.WriteString("})\n}\n")
	}
	text := "// Made by ./tables.\n\npackage main\n\nimport (\n\"maps\"\n\"reflect\"\n\n\"github.com/cosmos72/gomacro/imports\"\n" + imports.String() + ")\n" +
		tables.String()
	if err := os.WriteFile("tables.go", []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}
