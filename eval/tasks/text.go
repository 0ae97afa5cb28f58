package tasks

import "unicode"

// isSpace is Python's str.isspace of a character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// countWords is the number of pieces that whitespace parts a text into: a run of it at an end parts off an empty piece that
// counts, too.
func countWords(text string) int {
	words, inside := 1, false
	for _, r := range text {
		space := isSpace(r)
		if space && !inside {
			words++
		}
		inside = space
	}
	return words
}
