package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
	"unicode"
)

// value is a value of a formula in vectors, an operation on others.
type value struct {
	op   string   // load, constant, number, a binary operator, fma (ab+c), fms (ab-c), fnma (c-ab), exact, round, or a macro's
	name string   // of a load's slice, or of a constant
	text string   // of a number: in Go, in terms of the formula's numbers
	args []*value // operands
	uses int
}

// values lists what a formula computes; what occurs twice is computed once.
type values struct {
	formula *formula
	named   map[string]*value
	known   map[string]*value
	order   []*value // in the order of the source
	results []*value
}

// newValues evaluates the body of a formula.
func newValues(f *formula) *values {
	g := &values{formula: f, named: map[string]*value{}, known: map[string]*value{}}
	for _, p := range f.params {
		switch {
		case p.name == f.absent:
			g.named[p.name] = nil
		case p.number():
			g.named[p.name] = g.number(p.name)
		default:
			g.named[p.name] = g.make(value{op: "load", name: p.name})
		}
	}
	for _, s := range f.body {
		switch s := s.(type) {
		case *ast.AssignStmt:
			g.want(s.Tok == token.ASSIGN || s.Tok == token.DEFINE, "assignments by = or :=")
			for i, v := range g.all(s.Rhs) {
				g.named[s.Lhs[i].(*ast.Ident).Name] = v
			}
		case *ast.ReturnStmt:
			g.results = g.all(s.Results)
			for i, r := range f.results {
				if r.class == "Sum" {
					g.want(!f.op(), "no Sum in a formula of an op")
					g.results[i] = g.binary("+", g.make(value{op: "load", name: r.name}), g.results[i])
				}
			}
		default:
			panic(fmt.Sprintf("%s: want assignments and one return, got %T", f.name, s))
		}
	}
	for _, v := range g.results {
		v.use()
	}
	g.fuse()
	return g
}

// want panics with what a formula must be like, unless it is.
func (g *values) want(ok bool, what string) {
	if !ok {
		panic(g.formula.name + ": want " + what)
	}
}

// use counts a use of the value and, if it is the first, those of its operands.
func (v *value) use() {
	if v.uses++; v.uses > 1 {
		return
	}
	for _, x := range v.args {
		x.use()
	}
}

// all evaluates expressions, of which a single one may have several values.
func (g *values) all(list []ast.Expr) (values []*value) {
	for _, x := range list {
		values = append(values, g.evaluate(x)...)
	}
	return values
}

func (g *values) evaluate(x ast.Expr) []*value {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return g.evaluate(x.X)
	case *ast.Ident:
		if v, ok := g.named[x.Name]; ok {
			return []*value{v}
		}
		return []*value{g.constant(x.Name)}
	case *ast.BasicLit:
		return []*value{g.constant(x.Value)}
	case *ast.UnaryExpr:
		v := g.one(x.X)
		if x.Op == token.SUB && v.op == "constant" {
			return []*value{g.constant("-" + v.name)}
		}
	case *ast.BinaryExpr:
		if calls(x.Y, isFunction) && !calls(x.X, isFunction) { // what takes many registers first
			y := g.one(x.Y)
			return []*value{g.binary(x.Op.String(), g.one(x.X), y)}
		}
		return []*value{g.binary(x.Op.String(), g.one(x.X), g.one(x.Y))}
	case *ast.CallExpr:
		return g.call(x.Fun.(*ast.Ident).Name, g.all(x.Args))
	}
	panic(fmt.Sprintf("%s: want a product, a sum, a constant or a call, got %T", g.formula.name, x))
}

// calls tells whether an expression calls a function that the condition holds for.
func calls(x ast.Node, condition func(name string) bool) (found bool) {
	ast.Inspect(x, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && condition(call.Fun.(*ast.Ident).Name)
		return !found
	})
	return found
}

// isFunction tells whether a function takes several registers: those of Go have small letters.
func isFunction(name string) bool { return unicode.IsUpper(rune(name[0])) && name != "Round" }

func (g *values) one(x ast.Expr) *value { return g.evaluate(x)[0] }

// make returns the value of an operation.
func (g *values) make(v value) *value {
	key := v.op + " " + v.name + v.text
	for _, x := range v.args {
		key += fmt.Sprintf(" %p", x)
	}
	if known := g.known[key]; known != nil {
		return known
	}
	g.known[key] = &v
	g.order = append(g.order, &v)
	return &v
}

func (g *values) number(expression string) *value {
	return g.make(value{op: "number", text: expression})
}

func (g *values) constant(text string) *value {
	return g.make(value{op: "constant", name: text})
}

// binary returns the value of an operator. An Addend that is absent (nil) leaves the other summand.
func (g *values) binary(op string, x, y *value) *value {
	if x == nil || y == nil {
		if op != "+" {
			panic(g.formula.name + ": want an Addend to be added, got operator " + op)
		}
		if x == nil {
			return y
		}
		return x
	}
	return g.make(value{op: op, args: []*value{x, y}})
}

// call returns the values of a function.
func (g *values) call(name string, x []*value) []*value {
	one := func(op string, args ...*value) *value { return g.make(value{op: op, args: args}) }
	if op, ok := operations[name]; ok {
		g.want(op != name || x[1].op == "constant" && x[0].op != "constant", name+" of a value and a constant")
		return []*value{one(op, x...)}
	}
	g.want(strings.HasPrefix(name, "Tanh"), "a function of package formula, not "+name)
	m := one("tanhRatio", g.rate(x[0]))
	if name == "Tanh" { // m/(m+2), see tanhRatio
		return []*value{one("/", m, one("+", m, g.constant("2")))}
	}
	r := one("/", g.constant("2"), one("+", m, g.constant("2"))) // tanh is m r/2, 1 - tanh is r
	tanh, above := one("*", one("*", r, g.constant("0.5")), m), one("*", one("+", m, g.constant("1")), r)
	if name == "TanhSlope" {
		return []*value{tanh, one("*", above, r)}
	}
	return []*value{tanh, r, above}
}

// operations are the functions with an operation or a macro of their own.
var operations = map[string]string{"float64": "exact", "Round": "round", "max": "max", "min": "min", "Decay": "decay", "QuickDecay": "quickDecay"}

// rate returns 2 log2(e) x for tanhRatio. A factor of x that is a number takes it up.
func (g *values) rate(x *value) *value {
	const factor = "2*math.Log2E"
	if x.op == "/" && x.args[1].op == "number" {
		return g.binary("*", x.args[0], g.number(factor+"/"+x.args[1].text))
	}
	for i, y := range x.args {
		if x.op == "*" && y.op == "number" {
			return g.binary("*", x.args[1-i], g.number(factor+"*"+y.text))
		}
	}
	return g.binary("*", x, g.constant("twoLog2e"))
}

// fuse merges a product with the sum or difference that is its only use.
func (g *values) fuse() {
	for _, v := range g.order {
		if v.uses == 0 || v.op != "+" && v.op != "-" {
			continue
		}
		product := func(x *value) bool { return x.op == "*" && x.uses == 1 }
		x, y := v.args[0], v.args[1]
		switch {
		case product(y):
			v.op, x, y = choose(v.op == "+", "fma", "fnma"), y, x
		case product(x):
			v.op = choose(v.op == "+", "fma", "fms")
		default:
			continue
		}
		v.args, x.uses = []*value{x.args[0], x.args[1], y}, 0
	}
}
