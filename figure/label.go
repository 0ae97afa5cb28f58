package figure

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label returns a token's text as figures show it: a space is "␣", a line feed "⏎", a tab "⇥", a
// carriage return "\r"; other control and format characters are written like "\u00AD", bytes that
// are not UTF-8 like "\xFF", and the empty token is "∅". Applying Label to a label does not change
// it.
func Label(token string) string {
	if token == "" {
		return "∅"
	}
	return show(token, "␣")
}

// Visible makes the invisible characters of a text (a title, a cell) visible, except spaces.
func Visible(text string) string { return show(text, " ") }

// Name makes the name of a row, column or series visible, including spaces at its ends, because it
// may be a token.
func Name(text string) string {
	inner := strings.Trim(text, " ")
	left := len(text) - len(strings.TrimLeft(text, " "))
	if inner == "" {
		return strings.Repeat("␣", len(text))
	}
	return strings.Repeat("␣", left) + Visible(inner) + strings.Repeat("␣", len(text)-left-len(inner))
}

// show rewrites invisible characters; space replaces U+0020.
func show(text, space string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02X`, text[i])
		case r == ' ':
			b.WriteString(space)
		case r == '\n':
			b.WriteString("⏎")
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString("⇥")
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	return b.String()
}
