package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// notation writes the expressions of a formula in a language.
type notation struct {
	name   func(name string) string                  // a parameter, a variable or a constant
	number func(text string) string                  // a literal
	call   func(function string, x ...string) string // a function of package formula, or a conversion
	divide func(x, y string) string
	absent string // the parameter that is left out
}

// expression writes an expression; an absent summand is left out.
func (n *notation) expression(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return "(" + n.expression(x.X) + ")"
	case *ast.Ident:
		return n.name(x.Name)
	case *ast.BasicLit:
		return n.number(x.Value)
	case *ast.UnaryExpr:
		return x.Op.String() + n.expression(x.X)
	case *ast.CallExpr:
		return n.call(x.Fun.(*ast.Ident).Name, n.list(x.Args)...)
	case *ast.BinaryExpr:
		return n.binary(x)
	}
	panic(fmt.Sprintf("want an expression of a formula, got %T", x))
}

func (n *notation) binary(x *ast.BinaryExpr) string {
	absent := func(x ast.Expr) bool {
		name, ok := x.(*ast.Ident)
		return ok && n.absent != "" && name.Name == n.absent
	}
	switch {
	case absent(x.X):
		return n.expression(x.Y)
	case absent(x.Y):
		return n.expression(x.X)
	}
	first := n.expression(x.X)
	if x.Op == token.QUO && n.divide != nil {
		return n.divide(first, n.expression(ast.Unparen(x.Y)))
	}
	second := n.expression(x.Y)
	return first + " " + x.Op.String() + " " + second
}

func (n *notation) list(list []ast.Expr) (texts []string) {
	for _, x := range list {
		texts = append(texts, n.expression(x))
	}
	return texts
}

// statements gives each assignment to assign and returns the return statement's results.
func (f *formula) statements(n *notation, assign func(names []string, fresh bool, x []string)) (results []string) {
	known := map[string]bool{}
	for _, s := range f.body {
		switch s := s.(type) {
		case *ast.AssignStmt:
			names, fresh := n.list(s.Lhs), false
			for _, name := range names {
				fresh = fresh || !known[name]
				known[name] = true
			}
			assign(names, fresh, n.list(s.Rhs))
		case *ast.ReturnStmt:
			results = n.list(s.Results)
		}
	}
	return results
}

func joined(list []string) string { return strings.Join(list, ", ") }
