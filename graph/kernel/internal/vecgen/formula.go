package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/pkg/errors"
)

// formula is a function of package formula.
type formula struct {
	name            string
	params, results []parameter
	body            []ast.Stmt
	rows, functions bool   // no op computes it: there are only functions for rows, or for kernels on CPU and GPU
	absent          string // the Addend that is left out, if one is
}

// parameter is a parameter or result of a formula. Its class is a type of package formula, or
// float64.
type parameter struct{ name, class string }

// number tells whether the parameter is the same for all entries.
func (p parameter) number() bool { return p.class == "Number" || p.class == "Factor" }

// readFormulas reads the formulas of a folder, in the order of their names.
func readFormulas(folder string) (list []*formula, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if base := filepath.Base(name); base == "functions.go" || strings.HasSuffix(base, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				list = append(list, newFormula(f))
			}
		}
	}
	if list == nil {
		return nil, errors.Errorf("%s: want a folder with formulas, got none", folder)
	}
	return list, nil
}

func newFormula(d *ast.FuncDecl) *formula {
	says := func(text string) bool {
		return d.Doc != nil && slices.ContainsFunc(d.Doc.List, func(c *ast.Comment) bool { return c.Text == "//residua:"+text })
	}
	return &formula{name: d.Name.Name, params: parameters(d.Type.Params), results: parameters(d.Type.Results), body: d.Body.List,
		rows: says("rows"), functions: says("functions")}
}

// op tells whether an op computes the formula.
func (f *formula) op() bool { return !f.rows && !f.functions }

// single tells whether loops compute in the arrays' type.
func (f *formula) single() bool { return f.params[0].class == "Single" }

// wide tells whether vectors have lanes of float64.
func (f *formula) wide() bool {
	called := func(yes func(string) bool) bool {
		return slices.ContainsFunc(f.body, func(s ast.Stmt) bool { return calls(s, yes) })
	}
	if f.single() {
		return called(isFunction)
	}
	return !called(func(name string) bool { return name == "QuickDecay" })
}

// reserved are names that generated code uses.
var reserved = []string{"n", "i", "k", "p", "limit", "A", "N", "T"}

func parameters(fields *ast.FieldList) (list []parameter) {
	for _, field := range fields.List {
		for _, name := range field.Names {
			if slices.Contains(reserved, name.Name) {
				panic("want another name for a parameter than " + name.Name)
			}
			list = append(list, parameter{name.Name, field.Type.(*ast.Ident).Name})
		}
	}
	return list
}

// of returns the parameters that are numbers, or those that are arrays.
func (f *formula) of(numbers bool) []parameter {
	return slices.DeleteFunc(slices.Clone(f.params), func(p parameter) bool { return p.number() != numbers || p.name == f.absent })
}

// addend returns the name of the last parameter if it is an Addend, else "".
func (f *formula) addend() string {
	last := f.params[len(f.params)-1]
	if last.class != "Addend" || f.absent != "" {
		return ""
	}
	return last.name
}

// alone lists the arguments of the function without the Addend.
func (f *formula) alone() []string {
	return slices.DeleteFunc(f.names(), func(name string) bool { return name == f.addend() })
}

// variants returns the formula and, if it has an Addend, its form without that.
func (f *formula) variants() []*formula {
	if f.addend() == "" {
		return []*formula{f}
	}
	alone := *f
	alone.name, alone.absent = f.name+"Alone", f.addend()
	return []*formula{f, &alone}
}

// arrays lists the names of the results, then of the array parameters.
func (f *formula) arrays() (names []string) {
	for _, p := range slices.Concat(f.results, f.of(false)) {
		names = append(names, p.name)
	}
	return names
}

// function returns the name of the function that runs the formula on slices: SwiGLU's is swiGLU,
// LSTMCell's lstmCell.
func (f *formula) function() string {
	upper := strings.IndexFunc(f.name, unicode.IsLower)
	switch {
	case upper < 0:
		upper = len(f.name)
	case upper > 1:
		upper--
	}
	return strings.ToLower(f.name[:upper]) + f.name[upper:]
}
