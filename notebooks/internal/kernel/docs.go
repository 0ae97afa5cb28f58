package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/pkg/errors"
)

// writeDocs writes what packages' sources say of their exported names, for Jupyter's Shift-Tab.
func writeDocs(ctx context.Context, g goCommand, paths []string) error {
	packages, err := listPackages(ctx, g, append([]string{"builtin"}, paths...), "ImportPath,Dir,GoFiles,CgoFiles")
	if err != nil {
		return err
	}
	docs := docs{}
	for _, p := range packages {
		if err := docs.add(p); err != nil {
			return err
		}
	}
	text, err := json.Marshal(docs)
	if err != nil {
		return errors.Wrap(err, "notebook kernel: documentation")
	}
	return writeChanged(filepath.Join(g.dir, "docs.json"), text)
}

// docs are declarations and their comments by names such as path, path.Type and path.Type.Method.
type docs map[string]string

// add reads a package's source.
func (d docs) add(p listedPackage) error {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return errors.Wrap(err, "notebook kernel: documentation")
		}
		files = append(files, file)
	}
	mode := doc.Mode(0)
	if p.ImportPath == "builtin" {
		mode = doc.AllDecls // their names are not upper case
	}
	described, err := doc.NewFromFiles(set, files, p.ImportPath, mode)
	if err != nil {
		return errors.Wrapf(err, "notebook kernel: documentation of %s", p.ImportPath)
	}
	d[p.ImportPath] = strings.TrimSpace(described.Doc)
	at := docPath{d, set, p.ImportPath}
	at.values(described.Consts, described.Vars)
	at.functions(described.Funcs)
	for _, t := range described.Types {
		at.typ(t)
		at.values(t.Consts, t.Vars)
		at.functions(t.Funcs)
		docPath{d, set, p.ImportPath + "." + t.Name}.functions(t.Methods)
	}
	return nil
}

// docPath adds to docs below a path.
type docPath struct {
	docs docs
	set  *token.FileSet
	path string
}

func (d docPath) functions(functions []*doc.Func) {
	for _, f := range functions {
		f.Decl.Doc, f.Decl.Body = nil, nil
		d.add(f.Name, d.print(f.Decl), f.Doc)
	}
}

// values adds constants and variables, each with its own line of a declaration of many.
func (d docPath) values(groups ...[]*doc.Value) {
	for _, group := range groups {
		for _, value := range group {
			for _, s := range value.Decl.Specs {
				spec, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				comment := spec.Doc.Text() + spec.Comment.Text()
				if comment == "" {
					comment = value.Doc
				}
				spec.Doc, spec.Comment = nil, nil
				for _, name := range spec.Names {
					d.add(name.Name, value.Decl.Tok.String()+" "+d.print(spec), comment)
				}
			}
		}
	}
}

func (d docPath) typ(t *doc.Type) {
	t.Decl.Doc = nil
	d.add(t.Name, d.print(t.Decl), t.Doc)
	for _, s := range t.Decl.Specs {
		spec, ok := s.(*ast.TypeSpec)
		if !ok {
			continue
		}
		members := docPath{d.docs, d.set, d.path + "." + spec.Name.Name}
		switch of := spec.Type.(type) {
		case *ast.StructType:
			members.fields("field", of.Fields)
		case *ast.InterfaceType:
			members.fields("method", of.Methods)
		}
	}
}

// fields adds a struct's fields, or an interface's methods.
func (d docPath) fields(kind string, list *ast.FieldList) {
	for _, field := range list.List {
		for _, name := range field.Names {
			d.add(name.Name, kind+" "+name.Name+" "+d.print(field.Type), field.Doc.Text()+field.Comment.Text())
		}
	}
}

func (d docPath) add(name, declaration, comment string) {
	d.docs[d.path+"."+name] = strings.TrimSpace(declaration + "\n\n" + comment)
}

// longestDeclaration is how many lines of a type's declaration are told.
const longestDeclaration = 60

func (d docPath) print(node any) string {
	var b bytes.Buffer
	config := printer.Config{Mode: printer.UseSpaces, Tabwidth: 4}
	if err := config.Fprint(&b, d.set, node); err != nil {
		return ""
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) > longestDeclaration {
		lines = append(lines[:longestDeclaration], "...")
	}
	return strings.Join(lines, "\n")
}
