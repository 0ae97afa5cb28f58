package main

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"

	"github.com/cosmos72/gomacro/ast2"
	interp "github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/imports"
)

// piece is a token of a cell's text, from the byte start to before the byte end.
type piece struct {
	token      token.Token
	text       string
	start, end int
}

func (p piece) isWord() bool { return p.token == token.IDENT || p.token.IsKeyword() }

// split returns a text's tokens; comments are tokens, line ends are not.
func split(text string) []piece {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	var pieces []piece
	for {
		pos, tok, literal := s.Scan()
		switch {
		case tok == token.EOF:
			return pieces
		case tok == token.SEMICOLON && literal == "\n":
			pieces = append(pieces, piece{token: tok, start: file.Offset(pos), end: file.Offset(pos)})
			continue
		case literal == "":
			literal = tok.String()
		}
		start := file.Offset(pos)
		pieces = append(pieces, piece{tok, literal, start, start + len(literal)})
	}
}

// operandStart is where the operand begins whose last piece is the i-th, as f(x).y[0]; -1 if it
// is none.
func operandStart(pieces []piece, i int) int {
	for i >= 0 {
		switch pieces[i].token {
		case token.IDENT:
			if i < 2 || pieces[i-1].token != token.PERIOD {
				return i
			}
			i -= 2
		case token.RPAREN, token.RBRACK, token.RBRACE:
			open := opening(pieces, i)
			if open < 1 || !endsOperand(pieces[open-1]) {
				return open
			}
			i = open - 1
		default:
			return -1
		}
	}
	return -1
}

func endsOperand(p piece) bool {
	return p.token == token.IDENT || p.token == token.RPAREN || p.token == token.RBRACK || p.token == token.RBRACE
}

// opening returns the bracket that the i-th piece closes. For a piece that is no bracket it is
// the bracket around it. -1: there is none.
func opening(pieces []piece, i int) int {
	depth := 0
	if closing := pieces[i].token; closing != token.RPAREN && closing != token.RBRACK && closing != token.RBRACE {
		depth = 1
	}
	for ; i >= 0; i-- {
		switch pieces[i].token {
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth++
		case token.LPAREN, token.LBRACK, token.LBRACE:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// expression parses the pieces from first to last.
func expression(text string, pieces []piece, first, last int) ast.Expr {
	if first < 0 || last < first {
		return nil
	}
	node, err := parser.ParseExpr(text[pieces[first].start:pieces[last].end])
	if err != nil {
		return nil
	}
	return node
}

// compilerAfter returns a compiler that knows what cells have declared, and what the given text
// does, which is the beginning of a cell that has not run. Nothing of it runs.
func (s *session) compilerAfter(text string) *interp.Comp {
	c := s.ir.Comp.Inner()
	for _, node := range s.parse(text) {
		if declares(node) {
			compileInto(c, node)
		}
	}
	return c
}

// parse returns nothing for a text that is not whole.
func (s *session) parse(text string) (nodes []ast.Node) {
	defer func() {
		if recover() != nil {
			nodes = nil
		}
	}()
	return s.ir.Comp.ParseBytes([]byte(text))
}

// declares tells whether code declares names that this kernel can compile, and changes no type.
func declares(node ast.Node) bool {
	switch d := node.(type) {
	case *ast.AssignStmt:
		return d.Tok == token.DEFINE
	case *ast.DeclStmt:
		return declares(d.Decl)
	case *ast.FuncDecl:
		return d.Recv == nil
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if imported, ok := spec.(*ast.ImportSpec); ok && !canImport(imported) {
				return false
			}
		}
		return true
	}
	return false
}

func canImport(spec *ast.ImportSpec) bool {
	_, there := imports.Packages[importPath(spec)]
	return there
}

// compileInto compiles code if it can be.
func compileInto(c *interp.Comp, node ast.Node) {
	defer func() { _ = recover() }()
	c.Compile(ast2.ToAst(node))
}
