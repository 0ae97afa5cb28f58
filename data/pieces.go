package data

import (
	"unicode"
	"unicode/utf8"
)

// charClass is the class of a character in GPT-2's pattern for pieces.
type charClass uint8

const (
	classOther  charClass = iota // neither of the below; an invalid byte too
	classLetter                  // Unicode L
	classNumber                  // Unicode N
	classSpace                   // Unicode White_Space
)

// pieceEnd returns where the piece of text that starts at start ends; start is less than len(text).
// It splits by GPT-2's pattern
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// whose alternatives are tried in order: a contraction; a run of one class with at most one space
// before it; white space up to, but excluding, the last character before a word.
func pieceEnd(text string, start int) int {
	if text[start] == '\'' {
		if n := contraction(text[start+1:], func(a, b string) bool { return a == b }); n > 0 {
			return start + 1 + n
		}
	}
	class, size := classAt(text, start)
	if class != classSpace {
		return runEnd(text, start+size, class)
	}
	if text[start] == ' ' && start+1 < len(text) {
		if class, size := classAt(text, start+1); class != classSpace {
			return runEnd(text, start+1+size, class)
		}
	}
	return spaceEnd(text, start)
}

// contraction returns the length of the English contraction with which rest, the text after an
// apostrophe, begins; 0 if there is none.
func contraction(rest string, equal func(a, b string) bool) int {
	for _, ending := range [...]string{"s", "t", "m", "d", "re", "ve", "ll"} {
		n := 0
		for range ending { // one iteration a character
			_, size := utf8.DecodeRuneInString(rest[n:])
			n += size
		}
		if equal(rest[:n], ending) {
			return n
		}
	}
	return 0
}

// runEnd returns the end of the run of characters of a class at i.
func runEnd(text string, i int, class charClass) int {
	for i < len(text) {
		c, size := classAt(text, i)
		if c != class {
			break
		}
		i += size
	}
	return i
}

// spaceEnd returns the end of the white-space piece at start: the whole run if it ends the text or
// is one character long, otherwise all but its last character.
func spaceEnd(text string, start int) int {
	end := runEnd(text, start, classSpace)
	if _, size := utf8.DecodeLastRuneInString(text[:end]); end < len(text) && end-size > start {
		return end - size
	}
	return end
}

// classAt returns the class and the size in bytes of the character at i.
func classAt(text string, i int) (charClass, int) {
	c := text[i]
	switch {
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(text[i:])
		return classOf(r), size
	case c|0x20 >= 'a' && c|0x20 <= 'z':
		return classLetter, 1
	case c == ' ' || c >= '\t' && c <= '\r':
		return classSpace, 1
	case c >= '0' && c <= '9':
		return classNumber, 1
	}
	return classOther, 1
}

func classOf(r rune) charClass {
	switch {
	case unicode.IsLetter(r):
		return classLetter
	case unicode.IsNumber(r):
		return classNumber
	case unicode.IsSpace(r):
		return classSpace
	}
	return classOther
}
