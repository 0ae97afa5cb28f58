package settings

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/pkg/errors"
)

// MaxText is the largest size of a text in bytes, far beyond any config. It is limited because the
// parser's work grows faster than the text.
const MaxText = 64 << 10

// maxDepth is how deep lists and maps may be nested by [, { and -: the parser recurses once for
// each level.
const maxDepth = 64

// parse turns a text into the tree of its single YAML document, nil if it has only comments and
// space. Errors name key.
func (d *decoder) parse(text, key string) (ast.Node, error) {
	if len(text) > MaxText {
		return nil, d.errorAt(0, key, "want at most %d bytes of YAML, got %d", MaxText, len(text))
	}
	text = strings.TrimPrefix(text, "\ufeff")
	// The parser counts the end of a quoted line twice if it is \r\
	// .
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if err := d.checkCharacters(text, key); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(text)
	if err := d.checkTokens(tokens, key); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, d.syntaxError(err, key)
	}
	if len(file.Docs) > 1 {
		return nil, d.errorAt(startOf(file.Docs[1]), key, "a second document starts here; want one")
	}
	if len(file.Docs) == 0 {
		return nil, nil
	}
	return file.Docs[0].Body, nil
}

// checkCharacters refuses text that is not UTF-8 or contains control characters.
func (d *decoder) checkCharacters(text, key string) error {
	line := 1
	for i, r := range text {
		switch {
		case r == '\n':
			line++
		case r == '\t':
		case r == utf8.RuneError && strings.HasPrefix(text[i:], "\ufffd"):
		case r == utf8.RuneError:
			return d.errorAt(line, key, "the byte %#02x is not UTF-8 text", text[i])
		case unicode.IsControl(r):
			return d.errorAt(line, key, "the control character %U cannot stand in YAML; remove it", r)
		}
	}
	return nil
}

// checkTokens refuses the parts of YAML that configs do not use, and nesting deeper than maxDepth.
func (d *decoder) checkTokens(tokens token.Tokens, key string) error {
	depth, dashes, line := 0, 0, 0
	for _, t := range tokens {
		if t.Type == token.InvalidType {
			return nil // the parser reports the error
		}
		if t.Position.Line != line {
			line, dashes = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType:
			dashes++
		case token.CommentType:
			if d.isSet() {
				return d.errorAt(line, key, "# starts a comment; write the value in quotes")
			}
		default:
			if what := refused(t.Type); what != "" {
				return d.errorAt(line, key, "%s", what)
			}
		}
		if depth+dashes > maxDepth {
			return d.errorAt(line, key, "lists and maps are nested more than %d levels deep", maxDepth)
		}
	}
	return nil
}

// refused says why a config may not contain a kind of token, "" if it may.
func refused(t token.Type) string {
	switch t {
	case token.AnchorType:
		return "anchors (&name) are not supported; write the value out in each place"
	case token.AliasType:
		return "aliases (*name) are not supported; write the value out, or put it in quotes if the * is part of it"
	case token.TagType:
		return "tags (!name) are not supported; write the value alone, or put it in quotes if the ! is part of it"
	case token.MergeKeyType:
		return "merge keys (<<) are not supported; write the keys out"
	case token.MappingKeyType:
		return "? keys are not supported; write key: value"
	case token.DirectiveType:
		return "directives (%NAME) are not supported; remove the line"
	}
	return ""
}

// syntaxError shortens a parser error, which consists of a message, a copy of the source and a
// marker on several lines, to one line.
func (d *decoder) syntaxError(err error, key string) error {
	message, line := err.Error(), 0
	var located yaml.Error
	if errors.As(err, &located) {
		message = located.GetMessage()
		if t := located.GetToken(); t != nil && t.Position != nil {
			line = t.Position.Line
		}
	}
	message = strings.ReplaceAll(message, "'\t'", "tab")
	message = shortened(strings.Join(strings.Fields(message), " "), 200)
	switch {
	case strings.Contains(message, " tab") || strings.HasPrefix(message, "tab"):
		message += "; indent with spaces"
	case strings.Contains(message, "in this context"):
		message += "; check the indentation here and on the next line, and the space after each colon"
	}
	return d.errorAt(line, key, "not YAML: %s", message)
}

// startOf returns the line on which a document starts.
func startOf(doc *ast.DocumentNode) int {
	if doc.Start != nil {
		return doc.Start.Position.Line
	}
	return lineOf(doc.Body, 0)
}

// lineOf returns the line on which a node starts, or the given line if it is unknown.
func lineOf(n ast.Node, line int) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return line
	}
	return n.GetToken().Position.Line
}
