package data

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// printableError is an error whose message shows what is not printable, such as
// a terminal's control codes in the name of a file, as escapes (\x1b).
type printableError struct{ error }

func (e printableError) Error() string { return escaped(e.error.Error()) }
func (e printableError) Unwrap() error { return e.error }

// printable returns err, made printable if it is not. What is exported and may
// name files returns its errors through it.
func printable(err error) error {
	if err == nil || escaped(err.Error()) == err.Error() {
		return err
	}
	return printableError{err}
}

// escaped returns text with escapes as in Go in place of characters that are
// not printable and of bytes that are not UTF-8.
func escaped(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if char := text[i : i+size]; unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1) {
			out.WriteString(char)
		} else {
			quoted := strconv.Quote(char)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return out.String()
}
