package figure

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label is a token's text as figures show it: a space is "␣", a line feed "⏎", a tab "⇥", a
// carriage return "\r"; other control and format characters are written "\u00AD", bytes that are
// no UTF-8 "\xFF", and the empty token is "∅". A label's label is itself.
func Label(token string) string {
	if token == "" {
		return "∅"
	}
	return show(token, "␣")
}

// Visible is a text (a title, a cell) with what is invisible made visible, apart from spaces.
func Visible(text string) string { return show(text, " ") }

// Name is a row's, column's or series' name made visible: spaces at its ends, too, as the name
// may be a token's.
func Name(text string) string {
	inner := strings.Trim(text, " ")
	left := len(text) - len(strings.TrimLeft(text, " "))
	if inner == "" {
		return strings.Repeat("␣", len(text))
	}
	return strings.Repeat("␣", left) + Visible(inner) + strings.Repeat("␣", len(text)-left-len(inner))
}

// show rewrites invisible characters; space stands for U+0020.
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
