package data

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The patterns by which Llama 3 and Qwen split text, as in their tokenizer.json.
const (
	llama3Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwenPattern   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// llamaPieces splits by those patterns, whose alternatives are tried in order: a contraction in
// letters of either case; letters with at most one character before them that is neither letter,
// number nor line break; at most digits numbers; other characters with at most one space before and
// all line breaks after them; white space up to its last line break; white space up to, but
// excluding, the last character before a word.
func llamaPieces(digits int) cutter {
	return func(text string, start int) int {
		if text[start] == '\'' {
			if n := contraction(text[start+1:], strings.EqualFold); n > 0 {
				return start + 1 + n
			}
		}
		class, size := classAt(text, start)
		next := start + size
		switch {
		case class == classLetter:
			return runEnd(text, next, classLetter)
		case class == classNumber:
			return numberEnd(text, next, digits-1)
		case next < len(text) && text[start] != '\r' && text[start] != '\n':
			after, size := classAt(text, next)
			if after == classLetter {
				return runEnd(text, next+size, classLetter)
			}
			if text[start] == ' ' && after == classOther {
				return breaksEnd(text, runEnd(text, next+size, classOther))
			}
		}
		if class == classOther {
			return breaksEnd(text, runEnd(text, next, classOther))
		}
		if end := lastBreak(text, start); end > start {
			return end
		}
		return spaceEnd(text, start)
	}
}

// numberEnd returns the end of at most n numbers at i.
func numberEnd(text string, i, n int) int {
	for ; n > 0 && i < len(text); n-- {
		class, size := classAt(text, i)
		if class != classNumber {
			break
		}
		i += size
	}
	return i
}

// breaksEnd returns the end of the line breaks at i.
func breaksEnd(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], lineBreaks))
}

// lastBreak returns the end of the last line break in the white space at start, or start if there
// is none.
func lastBreak(text string, start int) int {
	return start + strings.LastIndexAny(text[start:runEnd(text, start, classSpace)], lineBreaks) + 1
}

// lineBreaks are the characters of line breaks.
const lineBreaks = "\r\n"

// digitPieces splits off numbers, each digit by itself or a whole run.
func digitPieces(each bool) cutter {
	return func(text string, start int) int {
		class, size := classAt(text, start)
		switch next := strings.IndexFunc(text[start:], unicode.IsNumber); {
		case class == classNumber && each:
			return start + size
		case class == classNumber:
			return runEnd(text, start, classNumber)
		case next >= 0:
			return start + next
		}
		return len(text)
	}
}

// characterOfByte is GPT-2's table for writing tokens as text: printable characters of Latin-1
// stand for themselves, the other bytes, in order, are written as the characters from U+0100 on.
func characterOfByte() (table [256]rune) {
	next := rune(0x100)
	for b := range table {
		switch {
		case b >= '!' && b <= '~', b >= 0xa1 && b <= 0xac, b >= 0xae:
			table[b] = rune(b)
		default:
			table[b] = next
			next++
		}
	}
	return table
}

// byteOfCharacter is the inverse of characterOfByte.
func byteOfCharacter() map[rune]byte {
	table := make(map[rune]byte, 256)
	for b, r := range characterOfByte() {
		table[r] = byte(b)
	}
	return table
}

// bytesOf returns the bytes of a token; ok is false if its text has other characters.
func bytesOf(token string, table map[rune]byte) (string, bool) {
	word := make([]byte, 0, utf8.RuneCountInString(token))
	for _, r := range token {
		b, ok := table[r]
		if !ok {
			return "", false
		}
		word = append(word, b)
	}
	return string(word), true
}
