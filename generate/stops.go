package generate

import "strings"

// stops searches for stop strings in a text that arrives in pieces, wherever the pieces begin and
// end. It holds back text that may still become a stop string.
type stops struct {
	strings []string
	held    string // end of the text so far: the longest one that begins a stop string
}

// next takes a piece and returns the text that certainly comes before any stop string. found tells
// that a stop string is complete; the first one to be complete counts, and the text ends before it.
func (s *stops) next(piece string) (text string, found bool) {
	text = s.held + piece
	s.held = ""
	start, end := -1, len(text)+1
	for _, stop := range s.strings {
		at := strings.Index(text, stop)
		if at >= 0 && (at+len(stop) < end || at+len(stop) == end && at < start) {
			start, end = at, at+len(stop)
		}
	}
	if start >= 0 {
		return text[:start], true
	}
	certain := len(text) - s.begun(text)
	s.held = text[certain:]
	return text[:certain], false
}

// flush ends the text and returns what was held back.
func (s *stops) flush() string {
	text := s.held
	s.held = ""
	return text
}

// begun returns the length of the longest end of text that is the beginning of a stop string.
func (s *stops) begun(text string) int {
	longest := 0
	for _, stop := range s.strings {
		for n := min(len(stop)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}
