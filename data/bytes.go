package data

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// byteTokenizer maps every byte of the text to the id of its value; id 256 is
// BOS.
type byteTokenizer struct {
	special bool // endOfText in a text is BOS
}

const byteBOS = 256

func (byteTokenizer) Name() string { return tokenizerBytes }
func (byteTokenizer) Vocab() int   { return byteBOS + 1 }
func (byteTokenizer) BOS() int32   { return byteBOS }

func (b byteTokenizer) Encode(dst []int32, text string) []int32 {
	if before, after, found := strings.Cut(text, endOfText); found && b.special {
		return b.Encode(append(byteTokenizer{}.Encode(dst, before), byteBOS), after)
	}
	start := len(dst)
	dst = slices.Grow(dst, len(text))[:start+len(text)]
	out := dst[start:]
	for i := range out {
		out[i] = int32(text[i])
	}
	return dst
}

func (byteTokenizer) Decode(ids []int32) string {
	text := make([]byte, 0, len(ids))
	for _, id := range ids {
		switch {
		case id >= 0 && id < byteBOS:
			text = append(text, byte(id))
		case id != byteBOS:
			text = utf8.AppendRune(text, utf8.RuneError)
		}
	}
	return string(text)
}
