package data

import (
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// nfc composes text to Unicode's normalization form C (UAX #15). It takes the decompositions and
// combining classes of single characters from golang.org/x/text/unicode/norm, but composes by
// itself: that package composes characters beyond U+FFFF wrongly (golang/go#81028), and puts U+034F
// into long runs of marks.
type nfc struct {
	class []uint8          // [character below nfcEnd]
	pairs map[[2]rune]rune // primary composites by the two characters that they are composed of
}

// The classes of characters; one may have both.
const (
	nfcJoins   = 1 << iota // it may change together with what is before it
	nfcChanges             // it is not in normal form by itself
)

const nfcEnd = 0x30000 // all characters with a class are below it

// change is a part of a text that normalization has changed.
type change struct {
	end     int // its end in the normalized text
	was, is int // its bytes before and after
}

// counts returns how much of the normalized text has to be encoded before the change counts.
func (c change) counts() int {
	if c.was < c.is {
		return c.end - c.is + 1
	}
	return c.end
}

// nfcTables returns the tables, which it computes once.
var nfcTables = sync.OnceValue(newNFC)

func newNFC() *nfc {
	n := &nfc{class: make([]uint8, nfcEnd), pairs: map[[2]rune]rune{}}
	composites := map[int][]rune{} // by the length of their decompositions
	for r := rune(utf8.RuneSelf); r < nfcEnd; r++ {
		if d := decomposition(r); len(d) > 1 && !isHangul(r) && norm.NFC.IsNormalString(string(r)) {
			composites[len(d)] = append(composites[len(d)], r)
		}
	}
	for length := 2; len(composites[length]) > 0; length++ { // the shorter ones compose to the first of the two
		for _, r := range composites[length] {
			d := decomposition(r)
			if first := n.compose(d[:length-1]); len(first) == 1 {
				n.pairs[[2]rune{first[0], d[length-1]}] = r
			}
		}
	}
	seconds := map[rune]bool{}
	for pair := range n.pairs {
		seconds[pair[1]] = true
	}
	for r := rune(utf8.RuneSelf); r < nfcEnd; r++ {
		d := decomposition(r)
		if combiningClass(d[0]) > 0 || seconds[d[0]] || d[0] >= vowelBase && d[0] < vowelBase+vowels || d[0] > trailBase && d[0] < trailBase+trails {
			n.class[r] |= nfcJoins
		}
		if utf8.ValidRune(r) && !slices.Equal(n.compose(d), []rune{r}) {
			n.class[r] |= nfcChanges
		}
	}
	return n
}

// normalize returns the normal form of a text and what has changed in it, in order. Bytes that are
// not UTF-8 stay as they are.
func (n *nfc) normalize(text string) (string, []change) {
	var out []byte
	var changes []change
	copied := 0 // bytes of text that are in out
	for at := 0; at < len(text); {
		if text[at] < utf8.RuneSelf && (at+1 == len(text) || text[at+1] < utf8.RuneSelf) { // most text
			at++
			continue
		}
		end, same := n.segment(text, at)
		if !same {
			composed := n.compose(decomposed(text[at:end]))
			if part := string(composed); part != text[at:end] {
				out = append(append(out, text[copied:at]...), part...)
				changes = append(changes, change{len(out), end - at, len(part)})
				copied = end
			}
		}
		at = end
	}
	if copied == 0 {
		return text, nil
	}
	return string(append(out, text[copied:]...)), changes
}

// segment returns the end of the part of a text at a byte that normalization can change only as a
// whole. same tells that it does not change.
func (n *nfc) segment(text string, at int) (end int, same bool) {
	r, size := utf8.DecodeRuneInString(text[at:])
	end = at + size
	if r == utf8.RuneError {
		return end, true
	}
	same = n.classOf(r)&nfcChanges == 0
	for end < len(text) && text[end] >= utf8.RuneSelf {
		r, size := utf8.DecodeRuneInString(text[end:])
		if n.classOf(r)&nfcJoins == 0 {
			break
		}
		end += size
		same = false
	}
	return end, same
}

func (n *nfc) classOf(r rune) uint8 {
	if r < nfcEnd {
		return n.class[r]
	}
	return 0
}

// compose composes decomposed characters, in place.
func (n *nfc) compose(runes []rune) []rune {
	out := runes[:0]
	starter, last := -1, uint8(0) // place of the last starter, class of the character after which the next one comes
	for _, r := range runes {
		class := combiningClass(r)
		if starter >= 0 && (last == 0 || last < class) {
			if composite, ok := n.pair(out[starter], r); ok {
				out[starter] = composite
				continue
			}
		}
		if last = class; class == 0 {
			starter = len(out)
		}
		out = append(out, r)
	}
	return out
}

// pair returns the primary composite of two characters.
func (n *nfc) pair(first, second rune) (rune, bool) {
	switch lead, vowel, trail := first-leadBase, second-vowelBase, second-trailBase; {
	case lead >= 0 && lead < leads && vowel >= 0 && vowel < vowels:
		return syllableBase + (lead*vowels+vowel)*trails, true
	case isHangul(first) && (first-syllableBase)%trails == 0 && trail > 0 && trail < trails:
		return first + trail, true
	}
	composite, ok := n.pairs[[2]rune{first, second}]
	return composite, ok
}

// decomposed returns the characters of a text, decomposed and in canonical order.
func decomposed(text string) []rune {
	var runes []rune
	for _, r := range text {
		runes = append(runes, decomposition(r)...)
	}
	for begin := 0; begin < len(runes); begin++ { // starters stay where they are
		end := begin
		for end < len(runes) && combiningClass(runes[end]) > 0 {
			end++
		}
		slices.SortStableFunc(runes[begin:end], func(a, b rune) int { return int(combiningClass(a)) - int(combiningClass(b)) })
		begin = end
	}
	return runes
}

// The syllables of Hangul are composed by arithmetic (Unicode, section 3.12).
const (
	syllableBase, leadBase, vowelBase, trailBase = 0xac00, 0x1100, 0x1161, 0x11a7
	leads, vowels, trails                        = 19, 21, 28
)

func isHangul(r rune) bool { return r >= syllableBase && r < syllableBase+leads*vowels*trails }

// decomposition returns the full canonical decomposition of a character.
func decomposition(r rune) []rune {
	if isHangul(r) {
		index := r - syllableBase
		d := []rune{leadBase + index/(vowels*trails), vowelBase + index/trails%vowels}
		if trail := index % trails; trail > 0 {
			d = append(d, trailBase+trail)
		}
		return d
	}
	if d := norm.NFD.PropertiesString(string(r)).Decomposition(); r >= utf8.RuneSelf && d != nil {
		return []rune(string(d))
	}
	return []rune{r}
}

// combiningClass returns the canonical combining class of a character.
func combiningClass(r rune) uint8 {
	if r < 0x300 { // where marks begin
		return 0
	}
	return norm.NFD.PropertiesString(string(r)).CCC()
}
