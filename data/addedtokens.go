package data

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that a tokenizer.json adds to the vocabulary of its BPE. Unless it is
// special, it is found in a text before the text is cut into pieces.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	Special    bool   `json:"special"`
	Normalized bool   `json:"normalized"`  // search the normalized text for it
	SingleWord bool   `json:"single_word"` // only where no word character is next to it
	LStrip     bool   `json:"lstrip"`      // it takes the white space before it
	RStrip     bool   `json:"rstrip"`      // and after it
}

// addedTokens finds tokens in a text: from the left, the longest of those that begin at a place, as
// Hugging Face's tokenizers do.
type addedTokens struct {
	starting [256][]addedToken // by first byte, longest first
	some     bool              // there is a token that is not special
}

func newAddedTokens(tokens []addedToken) *addedTokens {
	var a addedTokens
	for _, t := range tokens {
		if t.Content == "" {
			continue
		}
		first := t.Content[0]
		a.starting[first] = append(a.starting[first], t)
		a.some = a.some || !t.Special
	}
	for _, list := range a.starting {
		slices.SortStableFunc(list, func(x, y addedToken) int { return cmp.Compare(len(y.Content), len(x.Content)) })
	}
	return &a
}

// parts yields the parts of a text in order, each with the token that it is, or nil. With special,
// the name of a special token in the text is that token.
func (a *addedTokens) parts(text string, special bool) iter.Seq2[string, *addedToken] {
	return func(yield func(string, *addedToken) bool) {
		for at := 0; at < len(text); {
			token, begin, end := a.next(text, at, special)
			if begin > at && !yield(text[at:begin], nil) || token != nil && !yield(text[begin:end], token) {
				return
			}
			at = end
		}
	}
}

// next returns the first token in text from from on, and where its part of the text begins and
// ends; nil if there is none. Unless special is set, a special token's name is text, in which no
// other token is found.
func (a *addedTokens) next(text string, from int, special bool) (t *addedToken, begin, end int) {
	for at := from; a != nil && (a.some || special) && at < len(text); at++ {
		found := a.at(text, at)
		if found == nil {
			continue
		}
		begin, end = at, at+len(found.Content)
		if found.Special && !special || found.SingleWord && (endsInWord(text[:begin]) || beginsWithWord(text[end:])) {
			at = end - 1
			continue
		}
		if found.LStrip {
			begin = max(from, len(strings.TrimRightFunc(text[:begin], unicode.IsSpace)))
		}
		if found.RStrip {
			end = len(text) - len(strings.TrimLeftFunc(text[end:], unicode.IsSpace))
		}
		return found, begin, end
	}
	return nil, len(text), len(text)
}

// at returns the longest token that begins at a byte of text.
func (a *addedTokens) at(text string, at int) *addedToken {
	list := a.starting[text[at]]
	for i := range list {
		if strings.HasPrefix(text[at:], list[i].Content) {
			return &list[i]
		}
	}
	return nil
}

func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return isWord(r)
}

func beginsWithWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return isWord(r)
}

// isWord tells whether \w of a regular expression stands for a character (UTS #18, annex C).
func isWord(r rune) bool {
	const nonJoiner, joiner = 0x200c, 0x200d
	return unicode.In(r, unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc) || r == nonJoiner || r == joiner
}
