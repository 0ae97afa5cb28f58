package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"log"
	"reflect"
	"regexp"
	"strings"

	interp "github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/xreflect"
)

// answerInspect tells what the name at the cursor is.
func (kernel *Kernel) answerInspect(receipt msgReceipt) {
	text, cursor := receipt.textAndCursor()
	content := map[string]any{"status": "ok", "found": false, "data": map[string]any{}, "metadata": map[string]any{}}
	if description := kernel.session.inspect(text, cursor); description != "" {
		content["found"] = true
		content["data"] = map[string]any{"text/plain": description}
	}
	if err := receipt.Reply("inspect_reply", content); err != nil {
		log.Println(err)
	}
}

// inspect describes the name at a place of a text, or else the function whose arguments are
// there; "" if it knows nothing of it.
func (s *session) inspect(text string, cursor int) string {
	pieces := split(text)
	at := nameAt(pieces, cursor)
	if at < 0 {
		return ""
	}
	node := expression(text, pieces, operandStart(pieces, at), at)
	if node == nil {
		return ""
	}
	c := s.compilerAfter(text[:strings.LastIndexByte(text[:pieces[at].start], '\n')+1])
	switch node := node.(type) {
	case *ast.Ident:
		return describeName(c, node)
	case *ast.SelectorExpr:
		return describeMember(c, node)
	}
	return ""
}

// nameAt returns the piece at the cursor that is a name, or the function in whose call the cursor
// is; -1: neither.
func nameAt(pieces []piece, cursor int) int {
	before := -1
	for i, p := range pieces {
		if p.token == token.IDENT && p.start <= cursor && cursor <= p.end {
			return i
		}
		if p.end <= cursor && p.text != "" {
			before = i
		}
	}
	for before >= 0 {
		open := before
		if pieces[before].token != token.LPAREN {
			open = opening(append(pieces[:before+1:before+1], piece{}), before+1)
		}
		if open < 1 {
			return -1
		}
		if pieces[open].token == token.LPAREN && pieces[open-1].token == token.IDENT {
			return open - 1
		}
		before = open - 1
	}
	return -1
}

// describeName describes a name that stands alone.
func describeName(c *interp.Comp, node *ast.Ident) string {
	name := node.Name
	if imported := c.ImportOf(name); imported != nil {
		return paragraphs(fmt.Sprintf("package %s // import %q", imported.Name, imported.Path), docs()[imported.Path])
	}
	if c.IsBuiltin(name) {
		return docs()["builtin."+name]
	}
	t, isType := c.TypeOfNode(node)
	value := c.ConstText(name)
	switch {
	case t == nil:
		return ""
	case isType:
		return paragraphs(fmt.Sprintf("type %s %v", name, t.Kind()), docOfType(t))
	case isFunction(t):
		return strings.Replace(short(t), "func", "func "+name, 1)
	case value != "":
		return "const " + name + " = " + value
	}
	return paragraphs("var "+name+" "+short(t), docOfType(t))
}

// isFunction tells whether a type is that of functions, without a name of its own.
func isFunction(t xreflect.Type) bool { return t.Kind() == reflect.Func && t.Name() == "" }

// describeMember describes a name after a period.
func describeMember(c *interp.Comp, node *ast.SelectorExpr) string {
	name := node.Sel.Name
	if x, ok := node.X.(*ast.Ident); ok {
		if imported := c.ImportOf(x.Name); imported != nil {
			if text := docs()[imported.Path+"."+name]; text != "" {
				return text
			}
			if t, _ := c.TypeOfNode(node); t != nil {
				return x.Name + "." + name + " " + short(t)
			}
			return ""
		}
	}
	t, _ := c.TypeOfNode(node)
	if of, _ := c.TypeOfNode(node.X); of != nil {
		of = named(of)
		if text := docs()[of.PkgPath()+"."+of.Name()+"."+name]; text != "" {
			return text
		}
	}
	if t == nil {
		return ""
	}
	if isFunction(t) {
		return strings.Replace(short(t), "func", "func "+name, 1)
	}
	return paragraphs("field "+name+" "+short(t), docOfType(t))
}

// folders are what an import path has before the package's name.
var folders = regexp.MustCompile(`([\w.-]+/)+`)

// short writes a type with the names of packages instead of their paths.
func short(t xreflect.Type) string { return folders.ReplaceAllString(t.String(), "") }

// docOfType is what a package says of its type, or of the type that t points to.
func docOfType(t xreflect.Type) string {
	t = named(t)
	if t.Name() == "" || t.PkgPath() == "" {
		return ""
	}
	return docs()[t.PkgPath()+"."+t.Name()]
}

func paragraphs(parts ...string) string {
	var all []string
	for _, part := range parts {
		if part != "" {
			all = append(all, part)
		}
	}
	return strings.Join(all, "\n\n")
}
