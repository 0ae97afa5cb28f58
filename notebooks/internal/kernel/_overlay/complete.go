package main

import (
	"go/ast"
	"go/token"
	"log"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	interp "github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/imports"
	"github.com/cosmos72/gomacro/xreflect"
)

// textAndCursor are a cell's text and the byte at the cursor in it, of a request of an editor.
func (receipt *msgReceipt) textAndCursor() (text string, cursor int) {
	content, _ := receipt.Msg.Content.(map[string]interface{})
	text, _ = content["code"].(string)
	runes, _ := content["cursor_pos"].(float64) // Jupyter counts characters
	for range int(runes) {
		if cursor < len(text) {
			_, size := utf8.DecodeRuneInString(text[cursor:])
			cursor += size
		}
	}
	return text, cursor
}

// answerComplete tells how the word before the cursor may go on.
func (kernel *Kernel) answerComplete(receipt msgReceipt) {
	text, cursor := receipt.textAndCursor()
	matches, start := kernel.session.complete(text[:cursor], text)
	if matches == nil {
		matches = []string{}
	}
	if err := receipt.Reply("complete_reply", map[string]any{
		"status": "ok", "matches": matches, "metadata": map[string]any{},
		"cursor_start": utf8.RuneCountInString(text[:start]), "cursor_end": utf8.RuneCountInString(text[:cursor]),
	}); err != nil {
		log.Println(err)
	}
}

// complete returns the words that may stand at the end of a text, and where the word begins. What
// follows the text is in all.
func (s *session) complete(text, all string) (matches []string, start int) {
	pieces := split(text)
	for len(pieces) > 0 && pieces[len(pieces)-1].token == token.SEMICOLON && pieces[len(pieces)-1].text == "" {
		pieces = pieces[:len(pieces)-1]
	}
	last := len(pieces) - 1
	if last < 0 {
		return nil, len(text)
	}
	if p := pieces[last]; p.token == token.STRING && opensImport(pieces[:last]) {
		return packagesFrom(strings.TrimPrefix(p.text, `"`)), p.start + 1
	} else if p.end == len(text) && (p.token == token.COMMENT || p.token == token.STRING || p.token == token.CHAR) {
		return nil, len(text)
	}
	prefix, start := "", len(text)
	if p := pieces[last]; p.isWord() && p.end == len(text) {
		prefix, start, last = p.text, p.start, last-1
	}
	c := s.compilerAfter(text[:strings.LastIndexByte(text, '\n')+1])
	var names []string
	if last >= 0 && pieces[last].token == token.PERIOD {
		names = membersOf(c, expression(text, pieces, operandStart(pieces, last-1), last-1))
	} else {
		names = fieldsOf(c, text, pieces[:last+1])
		if prefix != "" {
			names = append(append(append(names, c.Names()...), words(split(all), start)...), keywords()...)
		}
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) && token.IsIdentifier(name) || token.IsKeyword(name) && strings.HasPrefix(name, prefix) {
			matches = append(matches, name)
		}
	}
	slices.Sort(matches)
	return slices.Compact(matches), start
}

// membersOf lists what may follow an expression and a period.
func membersOf(c *interp.Comp, node ast.Expr) []string {
	if node == nil {
		return nil
	}
	if name, ok := node.(*ast.Ident); ok {
		if imported := c.ImportOf(name.Name); imported != nil {
			return exportedBy(imported)
		}
	}
	t, _ := c.TypeOfNode(node)
	if t == nil {
		return nil
	}
	return visible(t, c.Members(t))
}

func exportedBy(p *interp.Import) []string {
	var names []string
	for name := range p.Binds {
		names = append(names, name)
	}
	for name := range p.Types {
		names = append(names, name)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
}

// visible leaves out the names of a compiled package that a notebook cannot use.
func visible(t xreflect.Type, names []string) []string {
	if path := named(t).PkgPath(); path == "" || path == "main" {
		return names
	}
	return slices.DeleteFunc(names, func(name string) bool { return !token.IsExported(name) })
}

// named is a type, or what it points to.
func named(t xreflect.Type) xreflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		return t.Elem()
	}
	return t
}

// fieldsOf lists the fields of the struct whose literal, as in T{A: 1, B: 2}, is open at the end
// of the pieces, if a field can stand there.
func fieldsOf(c *interp.Comp, text string, pieces []piece) []string {
	last := len(pieces) - 1
	if last < 0 || pieces[last].token != token.LBRACE && pieces[last].token != token.COMMA {
		return nil
	}
	open := last
	if pieces[last].token == token.COMMA {
		open = opening(pieces, last)
	}
	if open < 1 || pieces[open].token != token.LBRACE {
		return nil
	}
	node := expression(text, pieces, operandStart(pieces, open-1), open-1)
	if node == nil {
		return nil
	}
	t, isType := c.TypeOfNode(node)
	if t == nil || !isType || t.Kind() != reflect.Struct {
		return nil
	}
	var names []string
	for i := range t.NumField() {
		names = append(names, t.Field(i).Name)
	}
	return visible(t, names)
}

// words lists the names in a cell's text, except for the one at the byte cursor.
func words(pieces []piece, cursor int) []string {
	var names []string
	for i, p := range pieces {
		if p.token == token.IDENT && p.start != cursor && (i == 0 || pieces[i-1].token != token.PERIOD) {
			names = append(names, p.text)
		}
	}
	return names
}

func keywords() []string {
	var words []string
	for t := token.BREAK; t <= token.VAR; t++ {
		words = append(words, t.String())
	}
	return words
}

// opensImport tells whether an import path can follow.
func opensImport(pieces []piece) bool {
	for i := len(pieces) - 1; i >= 0; i-- {
		switch pieces[i].token {
		case token.IMPORT:
			return true
		case token.STRING, token.SEMICOLON, token.LPAREN, token.IDENT, token.PERIOD, token.COMMENT:
		default:
			return false
		}
	}
	return false
}

// packagesFrom lists the packages that can be imported whose paths begin so.
func packagesFrom(prefix string) []string {
	var paths []string
	for path := range imports.Packages {
		if strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
