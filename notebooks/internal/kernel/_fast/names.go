package fast

import (
	"fmt"
	"go/ast"

	xr "github.com/cosmos72/gomacro/xreflect"
)

// Inner returns a compiler that knows all that c knows; what it declares is its own.
func (c *Comp) Inner() *Comp { return NewComp(c, nil) }

// TypeOfNode returns the type of an expression's value, or the type that the expression names; it
// does not run the expression. There is no type where the expression does not compile.
func (c *Comp) TypeOfNode(node ast.Expr) (t xr.Type, isType bool) {
	if t := c.tryNode(func(c *Comp) xr.Type { return c.Expr1(node, nil).Type }); t != nil {
		return t, false
	}
	return c.tryNode(func(c *Comp) xr.Type { return c.Type(node) }), true
}

// tryNode compiles where nothing is kept.
func (c *Comp) tryNode(compile func(*Comp) xr.Type) (t xr.Type) {
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	return compile(c.Inner())
}

// Names lists all that is declared.
func (c *Comp) Names() []string {
	var names []string
	for ; c != nil; c = c.Outer {
		for name := range c.Binds {
			names = append(names, name)
		}
		for name := range c.Types {
			names = append(names, name)
		}
	}
	return names
}

// Members lists the fields and methods of a type, those of embedded fields included.
func (c *Comp) Members(t xr.Type) []string { return c.listFieldsAndMethods(t, "") }

// ImportOf returns the package that a name stands for; nil if it does for none.
func (c *Comp) ImportOf(name string) *Import {
	sym := c.TryResolve(name)
	if sym == nil || !sym.Const() {
		return nil
	}
	imported, _ := sym.Bind.Value.(*Import)
	return imported
}

// ConstText writes the value of a constant; "" if the name is none.
func (c *Comp) ConstText(name string) string {
	sym := c.TryResolve(name)
	if sym == nil || !sym.Const() {
		return ""
	}
	if untyped, ok := sym.Bind.Value.(UntypedLit); ok {
		return untyped.Val.String()
	}
	return fmt.Sprint(sym.Bind.Value)
}

// IsBuiltin tells whether a name is the language's own, or gomacro's.
func (c *Comp) IsBuiltin(name string) bool {
	for ; c != nil; c = c.Outer {
		_, value := c.Binds[name]
		_, typ := c.Types[name]
		if value || typ {
			return c.Outer == nil
		}
	}
	return false
}
