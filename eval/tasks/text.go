package tasks

import "unicode"

// isSpace does what Python's str.isspace does for one character.
func isSpace(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }

// countWords returns the number of pieces when a text is split at runs of whitespace, as Python's
// re.split does; whitespace at either end adds an empty piece, which counts.
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
