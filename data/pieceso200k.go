package data

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// o200kPattern is the pattern by which OpenAI's o200k splits text, as in the tokenizer.json of
// models that have it.
const o200kPattern = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
	`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// o200kEnd splits by that pattern, whose alternatives are tried in order: capitals and then small
// letters, of which there is at least one; capitals; each with at most one character before that is
// neither letter, number nor line break, and a contraction after. Then numbers, other characters
// and white space as in Llama 3's, with slashes among the line breaks. Letters without case, and
// marks, count both as capitals and as small letters.
func o200kEnd(text string, start int) int {
	class, size := classAt(text, start)
	next := start + size
	afterOne := -1
	if class == classOther || class == classSpace && !strings.ContainsRune(lineBreaks, rune(text[start])) {
		afterOne = next
	}
	for _, end := range [...]int{smallEnd(text, afterOne), smallEnd(text, start), capitalsEnd(text, afterOne), capitalsEnd(text, start)} {
		if end > start {
			return end + contractionAfter(text[end:])
		}
	}
	switch {
	case class == classNumber:
		return numberEnd(text, next, 2)
	case class == classOther:
		return slashesEnd(text, runEnd(text, next, classOther))
	case text[start] == ' ' && next < len(text):
		if after, size := classAt(text, next); after == classOther {
			return slashesEnd(text, runEnd(text, next+size, classOther))
		}
	}
	if end := lastBreak(text, start); end > start {
		return end
	}
	return spaceEnd(text, start)
}

// The kinds of letters in o200k's pattern.
func isCapital(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Lt, unicode.Lm, unicode.Lo, unicode.M)
}

func isSmall(r rune) bool {
	return unicode.In(r, unicode.Ll, unicode.Lm, unicode.Lo, unicode.M)
}

// smallEnd returns the end of capitals at i and the small letters after them, or of capitals up to
// the last that is also a small letter; -1 if there is none, or if i is below 0.
func smallEnd(text string, i int) int {
	if i < 0 {
		return -1
	}
	end := while(text, i, isCapital)
	if after := while(text, end, isSmall); after > end {
		return after
	}
	last := strings.LastIndexFunc(text[i:end], isSmall)
	if last < 0 {
		return -1
	}
	_, size := utf8.DecodeRuneInString(text[i+last:])
	return i + last + size
}

// capitalsEnd returns the end of at least one capital at i; -1 if there is none, or if i is below
// 0.
func capitalsEnd(text string, i int) int {
	if i < 0 {
		return -1
	}
	if end := while(text, i, isCapital); end > i {
		return end
	}
	return -1
}

// while returns the end of the characters at i of which is is true.
func while(text string, i int, is func(r rune) bool) int {
	rest := strings.TrimLeftFunc(text[i:], func(r rune) bool { return r != utf8.RuneError && is(r) })
	return len(text) - len(rest)
}

// contractionAfter returns the length of the contraction with which text begins, its apostrophe
// included; 0 if there is none.
func contractionAfter(text string) int {
	if !strings.HasPrefix(text, "'") {
		return 0
	}
	if n := contraction(text[1:], strings.EqualFold); n > 0 {
		return 1 + n
	}
	return 0
}

// slashesEnd returns the end of the line breaks and slashes at i.
func slashesEnd(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], lineBreaks+"/"))
}
